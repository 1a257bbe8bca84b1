import 'reflect-metadata';
import { readCertificateOrExit } from '#edge';
import { nearestName } from '#limiter';
import {
  createHttpApp,
  createLogger,
  createRegistry,
  Health,
  loadConfigOrExit,
  refusalBeforeBody,
  runUntilSignal,
  setProblemTypeBase,
  warnOfUnknownVariables,
} from '#platform';
import cluster from 'node:cluster';
import { GatewayModule } from './gateway.module.js';
import { Gateway } from './gateway.js';
import { tlsFiles } from './proxy-settings.js';
import { openRoutesOrExit } from './routes/index.js';
import { demandTls } from './tls/tls-faults.js';
import { startTracing } from './tracing/index.js';
import { registerPool, runPrimary, serveAsWorker, tellThatItServes, turnToServe } from './workers/index.js';

const config = loadConfigOrExit('gateway', demandTls);
const routes = openRoutesOrExit(config);
const certificate = readCertificateOrExit('GATEWAY_TLS', tlsFiles(config));
setProblemTypeBase(config.problemTypeBase);

// Its workers have the same environment.
if (cluster.isPrimary) warnOfUnknownVariables(createLogger('gateway', config.logLevel), nearestName);

if (cluster.isPrimary && config.gatewayWorkers > 1) await runPrimary(config);
else await runGateway();

async function runGateway(): Promise<void> {
  const logger = createLogger('gateway', config.logLevel);
  const health = new Health();
  const registry = createRegistry('gateway');
  const tracing = await startTracing(config, logger);
  const options = { config, logger, health, registry, tracing, routes, certificate, turnToServe: turnToServe() };
  const gateway = new Gateway(options);
  const refusal = refusalBeforeBody(config.managementToken);
  const app = await createHttpApp(GatewayModule.register(gateway, options), { logger, registry, requestIdInLogs: false, refusal });
  runUntilSignal({ logger, health, graceMs: config.shutdownGraceMs, close: () => app.close() });
  if (cluster.isWorker) {
    serveAsWorker({ health, registry, enforcer: gateway.enforcer });
    await app.init();
    // It may have been told to end before.
    if (gateway.listening) tellThatItServes();
    return;
  }
  registerPool(registry, undefined);
  await app.listen(config.gatewayManagementPort, config.managementHost);
  logger.info({ managementUrl: await app.getUrl() }, 'management listens');
}

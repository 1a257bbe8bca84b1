import 'reflect-metadata';
import { readCertificateOrExit } from '#edge';
import { createHttpApp, createLogger, createRegistry, Health, loadConfigOrExit, runUntilSignal, setProblemTypeBase } from '#platform';
import { GatewayModule } from './gateway.module.js';
import { tlsFiles } from './proxy-settings.js';
import { openRoutesOrExit } from './routes/index.js';
import { demandTls } from './tls/tls-faults.js';
import { startTracing } from './tracing/index.js';

const config = loadConfigOrExit('gateway', demandTls);
const routes = openRoutesOrExit(config);
const certificate = readCertificateOrExit('GATEWAY_TLS', tlsFiles(config));
const logger = createLogger('gateway', config.logLevel);
setProblemTypeBase(config.problemTypeBase);
const health = new Health();
const registry = createRegistry('gateway');

const tracing = await startTracing(config);
const app = await createHttpApp(GatewayModule.register({ config, logger, health, registry, tracing, routes, certificate }), {
  logger,
  registry,
  requestIdInLogs: false,
});
runUntilSignal({ logger, health, graceMs: config.shutdownGraceMs, close: () => app.close() });
await app.listen(config.gatewayManagementPort, config.managementHost);
logger.info({ managementUrl: await app.getUrl() }, 'management listens');

import 'reflect-metadata';
import { readCertificateOrExit } from '#edge';
import { nearestName } from '#limiter';
import {
  createHttpApp,
  createLogger,
  createRegistry,
  Health,
  loadConfigOrExit,
  runUntilSignal,
  setProblemTypeBase,
  warnOfUnknownVariables,
} from '#platform';
import { DecisionApiModule } from './decision-api.module.js';
import { demandTls, TLS_PREFIX, tlsFiles } from './tls/tls-settings.js';

const config = loadConfigOrExit('decision-api', demandTls);
const certificate = readCertificateOrExit(TLS_PREFIX, tlsFiles(config));
const logger = createLogger('decision-api', config.logLevel);
warnOfUnknownVariables(logger, nearestName);
setProblemTypeBase(config.problemTypeBase);
const health = new Health();
const registry = createRegistry('decision-api');

const app = await createHttpApp(DecisionApiModule.register({ config, logger, health, registry, certificate }), {
  logger,
  registry,
  requestIdInLogs: false,
});
runUntilSignal({ logger, health, graceMs: config.shutdownGraceMs, close: () => app.close() });
await app.listen(config.decisionApiManagementPort, config.managementHost);
logger.info({ managementUrl: await app.getUrl() }, 'management listens');

import 'reflect-metadata';
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
import { PreloaderModule } from './preloader.module.js';

const config = loadConfigOrExit('preloader');
const logger = createLogger('preloader', config.logLevel);
warnOfUnknownVariables(logger, nearestName);
setProblemTypeBase(config.problemTypeBase);
const health = new Health();
const registry = createRegistry('preloader');

const app = await createHttpApp(PreloaderModule.register({ config, logger, health, registry }), { logger, registry });
runUntilSignal({ logger, health, graceMs: config.shutdownGraceMs, close: () => app.close() });
await app.listen(config.preloaderManagementPort, config.managementHost);
logger.info({ managementUrl: await app.getUrl() }, 'preloader listens');

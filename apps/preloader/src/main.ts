import 'reflect-metadata';
import {
  ConfigError,
  createHttpApp,
  createLogger,
  createRegistry,
  Health,
  loadConfig,
  runUntilSignal,
  setProblemTypeBase,
} from '#platform';
import { PreloaderModule } from './preloader.module.js';

function configOrExit(): ReturnType<typeof loadConfig<'preloader'>> {
  try {
    return loadConfig('preloader');
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    console.error(error.message);
    process.exit(2);
  }
}

const config = configOrExit();
const logger = createLogger('preloader', config.logLevel);
setProblemTypeBase(config.problemTypeBase);
const health = new Health();
const registry = createRegistry('preloader');

const app = await createHttpApp(PreloaderModule.register({ config, logger, health, registry }), { logger, registry });
runUntilSignal({ logger, health, graceMs: config.shutdownGraceMs, close: () => app.close() });
await app.listen(config.preloaderManagementPort, config.managementHost);
logger.info({ managementUrl: await app.getUrl() }, 'preloader listens');

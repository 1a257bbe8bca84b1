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
import { GatewayModule } from './gateway.module.js';

function configOrExit(): ReturnType<typeof loadConfig<'gateway'>> {
  try {
    return loadConfig('gateway');
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    console.error(error.message);
    process.exit(2);
  }
}

const config = configOrExit();
const logger = createLogger('gateway', config.logLevel);
setProblemTypeBase(config.problemTypeBase);
const health = new Health();
const registry = createRegistry('gateway');

const app = await createHttpApp(GatewayModule.register({ config, logger, health, registry }), { logger, registry, requestIdInLogs: false });
runUntilSignal({ logger, health, graceMs: config.shutdownGraceMs, close: () => app.close() });
await app.listen(config.gatewayManagementPort, config.managementHost);
logger.info({ managementUrl: await app.getUrl() }, 'management listens');

import 'reflect-metadata';
import { createHttpApp, createLogger, createRegistry, Health, loadConfigOrExit, runUntilSignal } from '#platform';
import { GatewayModule } from './gateway.module.js';

const config = loadConfigOrExit('gateway');
const logger = createLogger('gateway', config.logLevel);
const health = new Health();
const registry = createRegistry('gateway');

const app = await createHttpApp(GatewayModule.register({ config, logger, health, registry }), { logger, registry, requestIdInLogs: false });
runUntilSignal({ logger, health, graceMs: config.shutdownGraceMs, close: () => app.close() });
await app.listen(config.gatewayManagementPort, config.managementHost);
logger.info({ managementUrl: await app.getUrl() }, 'management listens');

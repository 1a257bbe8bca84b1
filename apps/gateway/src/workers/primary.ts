import { storedSwitches, type Switch } from '#limiter';
import { createHttpApp, createLogger, createRegistry, exitOnceLogged, refusalBeforeBody, runUntilSignal, type Config } from '#platform';
import { SwitchesHere } from '../switches/switches-here.js';
import { PoolHealth } from './pool-health.js';
import { PoolMetrics } from './pool-metrics.js';
import { PrimaryModule } from './primary.module.js';
import { WorkerPool } from './worker-pool.js';

/**
 * Runs a gateway of several processes: this one starts the others, hands them connections, and answers on the management port for all of them. It asks neither
 * Redis nor PostgreSQL anything, so that hardly anything can end it.
 */
export async function runPrimary(config: Config<'gateway'>): Promise<void> {
  const logger = createLogger('gateway', config.logLevel);
  const own = createRegistry('gateway');
  const { shutdownGraceMs: graceMs } = config;
  const pool = new WorkerPool({
    count: config.gatewayWorkers,
    standbys: config.gatewayStandbyWorkers,
    logger,
    graceMs,
    onStartFailed: (code) => void exitOnceLogged(logger, code),
  });
  const health = new PoolHealth(pool);
  const registry = new PoolMetrics(own, pool);
  const switches = new SwitchesHere({ switches: () => switchedOn(pool), switchHere: (here) => pool.switchHere(here) });
  const { managementToken } = config;
  const app = await createHttpApp(PrimaryModule.register({ health, registry, managementToken, switches }), {
    logger,
    registry: own,
    requestIdInLogs: false,
    refusal: refusalBeforeBody(managementToken),
  });
  runUntilSignal({
    logger,
    health,
    graceMs,
    close: async () => {
      await pool.stop();
      await app.close();
    },
  });
  process.on('SIGHUP', () => void pool.reload());
  pool.start();
  await app.listen(config.gatewayManagementPort, config.managementHost);
  logger.info({ managementUrl: await app.getUrl(), workers: config.gatewayWorkers }, 'management listens');
}

/** What is on for this gateway or for all, as one of the workers knows it. */
async function switchedOn(pool: WorkerPool): Promise<readonly Switch[]> {
  const [switches] = await pool.ask('switches');
  return switches === undefined ? [] : storedSwitches(switches);
}

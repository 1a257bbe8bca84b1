import { createLogger, createRegistry, Health, loadConfigOrExit, runUntilSignal } from '#platform';
import { createDataSource } from '#rules-db';
import { RulesDatabase } from './database.js';
import { createRulesApi } from './rules-api.js';

async function main(): Promise<void> {
  const config = loadConfigOrExit('rules-api');
  const logger = createLogger('rules-api', config.logLevel);
  const database = new RulesDatabase(createDataSource(config.databaseUrl, { applicationName: 'tollgate-rules-api' }), logger);
  const health = new Health();
  health.addCheck('postgres', database.check);

  const { adminToken, managementToken } = config;
  const app = await createRulesApi({ database, adminToken, managementToken, health, registry: createRegistry('rules-api'), logger });
  await app.listen(config.rulesApiPort, config.rulesApiHost);
  logger.info({ url: await app.getUrl() }, 'listening');

  const ending = new AbortController();
  runUntilSignal({
    logger,
    health,
    graceMs: config.shutdownGraceMs,
    close: async () => {
      ending.abort();
      await app.close();
      await database.close();
    },
  });
  // It listens before the database is there: /readyz says what is missing, and it becomes ready by itself.
  await database.prepare(ending.signal);
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});

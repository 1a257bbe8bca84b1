import { connectWhenUp, createDataSource, RuleReader, type ConnectOptions } from '#rules-db';
import type { RuleSourceConnection } from './rules/rule-source.js';

/** So many connections are enough: more reads than that are never made at once. */
const POOL_SIZE = 8;
/** As long as the reader would wait for an answer. */
const STATEMENT_TIMEOUT_MS = 2000;

/**
 * The rules as they stand in PostgreSQL.
 *
 * @param applicationName what PostgreSQL calls these connections in pg_stat_activity
 */
export function postgresRules(databaseUrl: string, applicationName = 'tollgate-enforcer'): RuleSourceConnection {
  const dataSource = createDataSource(databaseUrl, { poolSize: POOL_SIZE, applicationName, statementTimeoutMs: STATEMENT_TIMEOUT_MS });
  const reader = new RuleReader(dataSource);
  return {
    connect: (options: ConnectOptions) => connectWhenUp(dataSource, options),
    snapshot: (merchantId) => reader.snapshot(merchantId),
    defaultRules: () => reader.defaultRules(),
    plan: (name) => reader.plan(name),
    close: async () => {
      if (dataSource.isInitialized) await dataSource.destroy();
    },
  };
}

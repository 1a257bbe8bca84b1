import { isLabels, isMerchantId } from '#limiter';
import { apiKeysByPrefix, connectWhenUp, createDataSource, RuleReader, type ConnectOptions, type StoredApiKey } from '#rules-db';
import type { ApiKeySource, KnownApiKey } from './keys/api-key-source.js';
import { HURRIED_READS, type RuleSourceConnection } from './rules/rule-source.js';

/** So many connections are enough: more reads than that are never made at once. */
const POOL_SIZE = 8;
/** As long as the reader would wait for an answer. */
const STATEMENT_TIMEOUT_MS = 2000;

/**
 * The rules as they stand in PostgreSQL.
 *
 * @param applicationName what PostgreSQL calls these connections in pg_stat_activity
 */
export function postgresRules(databaseUrl: string, applicationName = 'tollgate-enforcer'): RuleSourceConnection & ApiKeySource {
  const dataSource = createDataSource(databaseUrl, {
    poolSize: POOL_SIZE,
    // Whoever asks because Redis is away has no time for a new connection.
    keptOpen: HURRIED_READS,
    applicationName,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
  });
  const reader = new RuleReader(dataSource);
  return {
    connect: (options: ConnectOptions) => connectWhenUp(dataSource, options),
    snapshot: (merchantId) => reader.snapshot(merchantId),
    defaultRules: () => reader.defaultRules(),
    plan: (name) => reader.plan(name),
    rehearse: () => reader.rehearse(HURRIED_READS),
    apiKeys: async (prefixes) => (await apiKeysByPrefix(dataSource, prefixes)).flatMap(readable),
    close: async () => {
      if (dataSource.isInitialized) await dataSource.destroy();
    },
  };
}

/** Rows have been edited by hand before: one that makes no sense is nobody's key. */
function readable({ id, prefix, hash, merchantId, user, labels, until }: StoredApiKey): KnownApiKey[] {
  if (!isMerchantId(merchantId) || !Buffer.isBuffer(hash) || (user !== null && !isUser(user)) || !isLabels(labels)) return [];
  const untilMs = until === null ? Infinity : until.getTime();
  return [{ prefix, hash, merchantId, user, untilMs, apiKey: { id, labels } }];
}

/** It becomes a header. */
function isUser(user: unknown): user is string {
  return typeof user === 'string' && user.length >= 1 && user.length <= 128 && !/\p{Cc}/u.test(user) && user.isWellFormed();
}

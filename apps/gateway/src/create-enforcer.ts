import { Enforcer, postgresRules } from '#enforcement';
import type { RetryPolicy } from '#limiter';
import type { Config, Logger } from '#platform';
import type { Registry } from 'prom-client';
import { Outcome, type ProxyMetrics } from './proxy/index.js';

export interface EnforcerSurroundings {
  readonly config: Config<'gateway'>;
  readonly logger: Logger;
  readonly registry: Registry;
}

/** The enforcer that the configuration describes. What the proxy knows, it is told. */
export function createEnforcer(
  { config, logger, registry }: EnforcerSurroundings,
  metrics: ProxyMetrics,
  hasRoute: (route: string) => boolean,
): Enforcer {
  const rules = postgresRules(config.databaseUrl, 'tollgate-gateway');
  return new Enforcer({
    redisUrl: config.redisUrl,
    ruleSource: rules,
    apiKeySource: config.identity.includes('api-key') ? rules : undefined,
    logger,
    registry,
    storeTimeoutMs: config.storeTimeoutMs,
    ruleCacheBytes: config.ruleCacheMb * 2 ** 20,
    defaultForUnknown: config.unknownMerchant === 'default',
    unknownLookupsPerSecond: config.unknownLookupsPerSecond,
    unknownLookupsPerPeer: config.unknownLookupsPerPeer,
    gatewaysExpected: config.gatewaysExpected,
    upstreamCapacityPerSecond: config.upstreamCapacityPerSecond,
    hasRoute,
    upstreamErrors: () => metrics.count(Outcome.UpstreamError),
    retries: retryPolicy(config),
    metricRules: config.metricRules,
    refusalLinesPerSecond: config.refusalLinesPerSecond,
    usageFlushMs: config.usageFlushMs,
    receiptsPerSecond: config.receiptsPerSecond,
    receiptsPassedOneIn: config.receiptsPassedOneIn,
    receiptsKept: config.receiptsKept,
    receiptsPerMerchant: config.receiptsPerMerchant,
    ...(config.receiptHashKey !== undefined && { receiptHashKey: config.receiptHashKey }),
  });
}

function retryPolicy({ idempotencyWindowMs: forMs, ...config }: Config<'gateway'>): RetryPolicy | undefined {
  if (forMs === 0) return undefined;
  return { forMs, mostRetries: config.idempotencyRetries, mostRemembered: config.idempotencyKeysPerMerchant };
}

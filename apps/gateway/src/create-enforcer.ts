import { enforcerOptions } from '#edge';
import { Enforcer } from '#enforcement';
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
  return new Enforcer({
    ...enforcerOptions(config, 'tollgate-gateway'),
    logger,
    registry,
    upstreamCapacityPerSecond: config.upstreamCapacityPerSecond,
    hasRoute,
    upstreamErrors: () => metrics.count(Outcome.UpstreamError),
    retries: retryPolicy(config),
  });
}

function retryPolicy({ idempotencyWindowMs: forMs, ...config }: Config<'gateway'>): RetryPolicy | undefined {
  if (forMs === 0) return undefined;
  return { forMs, mostRetries: config.idempotencyRetries, mostRemembered: config.idempotencyKeysPerMerchant };
}

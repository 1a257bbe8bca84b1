import { type EnforcerOptions, postgresRules } from '#enforcement';
import type { Config } from '#platform';

/** What gateways and decision APIs say alike of their enforcer. */
type EnforcerConfig = Pick<
  Config<'gateway'>,
  | 'databaseUrl'
  | 'redisUrl'
  | 'snapshotRedisUrl'
  | 'storeTimeoutMs'
  | 'leaseHorizonMs'
  | 'leaseCacheMb'
  | 'ruleCacheMb'
  | 'unknownMerchant'
  | 'unknownLookupsPerSecond'
  | 'unknownLookupsPerPeer'
  | 'gatewaysExpected'
  | 'metricRules'
  | 'refusalLinesPerSecond'
  | 'usageFlushMs'
  | 'receiptsPerSecond'
  | 'receiptsPassedOneIn'
  | 'receiptsKept'
  | 'receiptsPerMerchant'
  | 'receiptHashKey'
> &
  Partial<Pick<Config<'gateway'>, 'identity'>>;

/**
 * The options of an enforcer as the configuration of an app has them.
 *
 * @param name of the app's connections to PostgreSQL
 */
export function enforcerOptions(config: EnforcerConfig, name: string): Omit<EnforcerOptions, 'logger' | 'registry'> {
  const rules = postgresRules(config.databaseUrl, name);
  return {
    redisUrl: config.redisUrl,
    snapshotRedisUrl: config.snapshotRedisUrl,
    ruleSource: rules,
    apiKeySource: config.identity?.includes('api-key') === true ? rules : undefined,
    storeTimeoutMs: config.storeTimeoutMs,
    leaseHorizonMs: config.leaseHorizonMs,
    leaseCacheBytes: config.leaseCacheMb * 2 ** 20,
    ruleCacheBytes: config.ruleCacheMb * 2 ** 20,
    defaultForUnknown: config.unknownMerchant === 'default',
    unknownLookupsPerSecond: config.unknownLookupsPerSecond,
    unknownLookupsPerPeer: config.unknownLookupsPerPeer,
    gatewaysExpected: config.gatewaysExpected,
    metricRules: config.metricRules,
    refusalLinesPerSecond: config.refusalLinesPerSecond,
    usageFlushMs: config.usageFlushMs,
    receiptsPerSecond: config.receiptsPerSecond,
    receiptsPassedOneIn: config.receiptsPassedOneIn,
    receiptsKept: config.receiptsKept,
    receiptsPerMerchant: config.receiptsPerMerchant,
    ...(config.receiptHashKey !== undefined && { receiptHashKey: config.receiptHashKey }),
  };
}

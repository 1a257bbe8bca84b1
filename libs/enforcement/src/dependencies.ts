import { randomInt } from 'node:crypto';
import {
  type BucketStore,
  type Clock,
  LeasingBucketStore,
  MemoryBucketStore,
  RateLimiter,
  RememberingBucketStore,
  RULE_LANGUAGE,
} from '#limiter';
import {
  ChangeFeed,
  type ChangeListener,
  createRedis,
  RedisClaimStore,
  RedisSnapshotStore,
  redisTake,
  openBuckets,
  type RedisBuckets,
  type PlatformLoad,
  type RedisConnection,
} from '#limiter-redis';
import type { EnforcerSettings } from './enforcer-options.js';
import { ApiKeys } from './keys/api-keys.js';
import { DecisionMetrics } from './reports/decision-metrics.js';
import { IgnoredMessages } from './reports/ignored-messages.js';
import { RefusalLog } from './reports/refusal-log.js';
import { Reports } from './reports/reports.js';
import { StoreHealth } from './reports/store-health.js';
import { ColdRules, READS_AT_ONCE } from './rules/cold-rules.js';
import { Hedge } from './rules/hedge.js';
import { LookupAllowance } from './rules/lookup-allowance.js';
import { NO_STORED_RULES, RedisRules } from './rules/redis-rules.js';
import { type ColdReader, RuleCache } from './rules/rule-cache.js';
import { HURRIED_READS } from './rules/rule-source.js';
import { PART_BEFORE_RULE_SOURCE } from './rules/rules-in-time.js';
import { LiveGateways } from './sharing/live-gateways.js';
import { MeasuredSpareCapacity } from './sharing/spare-capacity.js';

const POLL_CHANGES_EVERY_MS = 1000;

/** A read of rules from Redis gets this part of a take's time: some is left for the take that follows. */
const PART_OF_TAKE_FOR_RULES = 0.6;

export type Dependencies = ReturnType<typeof createDependencies>;

/**
 * What an enforcer consists of, and how it hangs together. Nothing is started.
 *
 * @param id the name of this enforcer among all that share the buckets
 * @param report tells the other enforcers what this one lets pass each second, and answers what all do
 */
export function createDependencies(settings: EnforcerSettings, id: string, report: (perSecond: number) => Promise<PlatformLoad>) {
  const { logger, registry, ruleSource, storeTimeoutMs } = settings;
  const { redis, snapshotRedis, subscriber } = createConnections(settings);
  const storeHealth = new StoreHealth({ logger, registry });
  const store = openBuckets(redis, {
    deadlineMs: storeTimeoutMs,
    onAvailability: (available) => storeHealth.changed(available),
    onFailure: (failure) => storeHealth.failed(failure),
    onCall: (tookMs, requests) => storeHealth.answered(tookMs, requests),
  });
  const ignored = new IgnoredMessages({ logger, registry });
  const rules = createRuleCache(settings, snapshotRedis, store, ignored);
  const apiKeys = createApiKeys(settings);
  const listener = apiKeys === undefined ? rules : both(rules, apiKeys);
  const changes = new ChangeFeed(snapshotRedis, subscriber, listener, POLL_CHANGES_EVERY_MS, ignored.add);
  const gateways = new LiveGateways(settings.gatewaysExpected);
  const { upstreamCapacityPerSecond: capacityPerSecond, upstreamErrors } = settings;
  const spareCapacity = new MeasuredSpareCapacity({ capacityPerSecond, report, upstreamErrors });
  const buckets = new RememberingBucketStore(store, () => performance.now());
  const leasing = createLeasing(buckets, store, settings);
  // While Redis is away the gateway counts on by the clock that Redis had.
  const limiter = new RateLimiter(leasing, new MemoryBucketStore(clockOf(store)), {
    spareCapacity,
    gateways: () => gateways.count,
    retries: settings.retries,
    nowMs: Date.now,
  });
  return {
    redis,
    snapshotRedis,
    subscriber,
    ruleSource,
    rules,
    apiKeys,
    changes,
    store,
    storeHealth,
    /** In front of `store`: remembers what it has refused. */
    buckets,
    /** In front of `buckets`: spends what this process was lent. */
    leasing,
    limiter,
    claims: createClaims(redis, store, ignored, storeTimeoutMs),
    gateways,
    spareCapacity,
    decisions: new DecisionMetrics(registry, settings.metricRules),
    reports: new Reports({ settings, gateway: id, redis, isMerchant: (merchantId) => rules.has(merchantId) }),
    refusals: new RefusalLog({ logger, perSecond: settings.refusalLinesPerSecond, secret: settings.receiptHashKey }),
    ignored,
  };
}

function createLeasing(
  buckets: BucketStore,
  store: RedisBuckets,
  { leaseHorizonMs: horizonMs, leaseCacheBytes: maxBytes }: EnforcerSettings,
): LeasingBucketStore {
  return new LeasingBucketStore(buckets, store, {
    lessee: randomInt(1, 2 ** 32),
    horizonMs,
    maxBytes,
    now: () => performance.now(),
    wall: Date.now,
    storeAheadMs: () => store.clockOffsetMs,
  });
}

function isSnapshotRedisShared({ redisUrl, snapshotRedisUrl = redisUrl }: EnforcerSettings): boolean {
  return snapshotRedisUrl === redisUrl;
}

/** Snapshots have a connection of their own only where they are on another server. */
function createConnections(settings: EnforcerSettings) {
  const { redisUrl, snapshotRedisUrl = redisUrl } = settings;
  const redis = createRedis(redisUrl, 'limiter');
  const snapshotRedis = isSnapshotRedisShared(settings) ? redis : createRedis(snapshotRedisUrl, 'limiter');
  return { redis, snapshotRedis, subscriber: createRedis(snapshotRedisUrl, 'subscriber') };
}

/** That of Redis, which goes on here while Redis is away. */
function clockOf(store: RedisBuckets): Clock {
  return () => Date.now() + store.clockOffsetMs;
}

function createClaims(redis: RedisConnection, store: RedisBuckets, ignored: IgnoredMessages, deadlineMs: number): RedisClaimStore {
  return new RedisClaimStore(redis, { nowMs: clockOf(store), deadlineMs, onUnreadable: (what) => ignored.add({ kind: 'claim', ...what }) });
}

function createApiKeys({ apiKeySource, unknownLookupsPerSecond, unknownLookupsPerPeer }: EnforcerSettings): ApiKeys | undefined {
  if (apiKeySource === undefined) return undefined;
  // An allowance of its own: whoever floods with keys takes nothing from merchants whose rules are looked up.
  const unknown = new LookupAllowance({
    perSecond: unknownLookupsPerSecond,
    perPeerPerSecond: unknownLookupsPerPeer,
    atOnce: READS_AT_ONCE,
  });
  return new ApiKeys({ source: apiKeySource, unknown });
}

/** What changed of a merchant may be its rules or its keys. */
function both(rules: RuleCache, apiKeys: ApiKeys): ChangeListener {
  return {
    changed: (merchantId) => {
      rules.changed(merchantId);
      apiKeys.changed(merchantId);
    },
    plansChanged: (plan) => rules.plansChanged(plan),
    changedSome: (concerns, defaults) => {
      rules.changedSome(concerns, defaults);
      apiKeys.changedSome(concerns);
    },
  };
}

function createRuleCache(
  settings: EnforcerSettings,
  snapshotRedis: RedisConnection,
  store: RedisBuckets,
  ignored: IgnoredMessages,
): RuleCache {
  const deadlineMs = PART_OF_TAKE_FOR_RULES * settings.storeTimeoutMs;
  // What is read on the connection of takes says something about takes.
  const isShared = isSnapshotRedisShared(settings);
  const snapshots = new RedisSnapshotStore(snapshotRedis, ignored.add, { deadlineMs, ...(isShared && { watch: store.watch }) });
  const readable = () => (isShared ? store.readable : snapshotRedis.status === 'ready');
  return new RuleCache({
    cold: createColdReader(settings, snapshots, readable),
    makeTake: redisTake,
    storeNow: clockOf(store),
    onNewerRule: ({ id, language }) =>
      ignored.add({
        kind: 'rule',
        reason: 'newer_format',
        detail: `rule ${id} is written in version ${language} of the language of rules, and this gateway knows version ${RULE_LANGUAGE}`,
      }),
    maxBytes: settings.ruleCacheBytes,
    defaultForUnknown: settings.defaultForUnknown,
  });
}

function createColdReader(settings: EnforcerSettings, snapshots: RedisSnapshotStore, redisAvailable: () => boolean): ColdReader {
  const { ruleSource, storedRules, unknownLookupsPerSecond: perSecond, unknownLookupsPerPeer: perPeerPerSecond } = settings;
  if (!storedRules) return NO_STORED_RULES;
  if (ruleSource === undefined) return new RedisRules({ snapshots, redisAvailable });
  const unknownIds = new LookupAllowance({ perSecond, perPeerPerSecond, atOnce: READS_AT_ONCE });
  const hedge = new Hedge({ afterMs: PART_BEFORE_RULE_SOURCE * settings.storeTimeoutMs, atOnce: HURRIED_READS });
  return new ColdRules({ snapshots, ruleSource, redisAvailable, hedge, unknownIds });
}

import { randomBytes } from 'node:crypto';
import { getHeapStatistics } from 'node:v8';
import type { RetryPolicy } from '#limiter';
import type { Registry } from 'prom-client';
import type { ApiKeySource } from './keys/api-key-source.js';
import type { RuleSourceConnection } from './rules/rule-source.js';

/** The part of a pino logger that an enforcer needs. */
export interface EnforcerLogger {
  info(message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface EnforcerOptions {
  /** Where buckets are, and snapshots: redis://, redis+sentinel:// or redis+cluster://, or one of them as rediss. */
  readonly redisUrl: string;
  /** Where snapshots of rules and the feed of their changes are, if not there. */
  readonly snapshotRedisUrl?: string | undefined;
  /** The truth behind the snapshots: asked only about merchants that Redis does not know, and while Redis is away. Without one, what Redis does not know does not exist. */
  readonly ruleSource?: RuleSourceConnection | undefined;
  /** False: no rules are stored anywhere, and nobody looks for any. Each id is a merchant then, and the rules are those of `rulesHere`. */
  readonly storedRules?: boolean;
  /** The truth about API keys, where callers are known by them. */
  readonly apiKeySource?: ApiKeySource | undefined;
  readonly logger: EnforcerLogger;
  /** Gets the metrics of decisions, rules and the store. */
  readonly registry: Registry;
  /** How long Redis may take for one take. Milliseconds. */
  readonly storeTimeoutMs?: number;
  /** After which tokens that a leased rule has taken in advance end, if they are not renewed. Milliseconds, at most 10,000. */
  readonly leaseHorizonMs?: number;
  /** Memory for the buckets of leased and optimistic rules that are in use, by estimate. Never more than a quarter of the heap. */
  readonly leaseCacheBytes?: number;
  /** Memory for the rules of merchants, by estimate. Never more than a quarter of the heap. */
  readonly ruleCacheBytes?: number;
  /** A merchant that does not exist gets the default rules instead of no verdict. */
  readonly defaultForUnknown?: boolean;
  /** Ids a second that are looked up in PostgreSQL and turn out not to exist. */
  readonly unknownLookupsPerSecond?: number;
  /** The same for one client address. */
  readonly unknownLookupsPerPeer?: number;
  /** Among how many enforcers a limit is shared locally before any has been heard of. */
  readonly gatewaysExpected?: number;
  /** Requests a second that the upstream can carry, from all enforcers together; 0: elastic limits are hard. */
  readonly upstreamCapacityPerSecond?: number;
  /** Exchanges that the upstream has failed, ever: while it fails it has nothing to spare. */
  readonly upstreamErrors?: () => number;
  /** Whether requests over a limit can go to a route of this name; to none unless given. */
  readonly hasRoute?: (route: string) => boolean;
  /** What is not charged of retries; everything is unless given. */
  readonly retries?: RetryPolicy | undefined;
  /** Ids of rules that are counted each by itself in the metrics. */
  readonly metricRules?: readonly string[];
  /** Lines of the log in a second, one for each refusal; 0: none. */
  readonly refusalLinesPerSecond?: number;
  /** How often numbers of requests are told to Redis, by merchant, rule and minute; 0: never. Milliseconds. */
  readonly usageFlushMs?: number;
  /** Receipts of decisions that this process writes in a second at most; 0: none. */
  readonly receiptsPerSecond?: number;
  /** Of how many requests that passed one gets a receipt; 0: none. */
  readonly receiptsPassedOneIn?: number;
  /** Receipts that Redis keeps, of all merchants together. */
  readonly receiptsKept?: number;
  /** Receipts of one merchant in a minute, from all enforcers together. */
  readonly receiptsPerMerchant?: number;
  /** Secret with which personal parts of bucket keys are hashed in receipts and in the log; a random one unless given. */
  readonly receiptHashKey?: string;
}

export type EnforcerSettings = Required<Omit<EnforcerOptions, 'apiKeySource' | 'retries' | 'ruleSource' | 'snapshotRedisUrl'>> &
  Pick<EnforcerOptions, 'apiKeySource' | 'retries' | 'ruleSource' | 'snapshotRedisUrl'>;

/** The options with defaults for those that were not given. */
export function enforcerSettings(options: EnforcerOptions): EnforcerSettings {
  const { ruleCacheBytes = 128 * 2 ** 20, leaseCacheBytes = 64 * 2 ** 20 } = options;
  const most = getHeapStatistics().heap_size_limit / 4;
  return {
    storeTimeoutMs: 25,
    leaseHorizonMs: 1000,
    storedRules: true,
    defaultForUnknown: false,
    unknownLookupsPerSecond: 60,
    unknownLookupsPerPeer: 15,
    gatewaysExpected: 1,
    upstreamCapacityPerSecond: 0,
    upstreamErrors: () => 0,
    hasRoute: () => false,
    metricRules: [],
    refusalLinesPerSecond: 20,
    usageFlushMs: 5000,
    receiptsPerSecond: 200,
    receiptsPassedOneIn: 1000,
    receiptsKept: 100_000,
    receiptsPerMerchant: 20,
    receiptHashKey: randomBytes(32).toString('base64url'),
    ...options,
    ruleCacheBytes: Math.min(ruleCacheBytes, most),
    leaseCacheBytes: Math.min(leaseCacheBytes, most),
  };
}

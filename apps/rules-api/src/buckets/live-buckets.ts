import {
  type Bucket,
  type BucketLevel,
  type BucketLooker,
  type BucketOperation,
  type BucketReading,
  type BucketTake,
  StoreUnavailableError,
} from '#limiter';
import type { ProblemError } from '#platform';
import { createRedis, openBuckets, type RedisBuckets, RedisSnapshotStore, type RedisConnection } from '#limiter-redis';
import { bucketsUnavailable, LiveReports } from './live-reports.js';

/** An administrator waits longer than a request may. Milliseconds. */
const DEADLINE_MS = 1_000;

/** The buckets in Redis as an operator sees them. The only place of the Rules API that knows Redis. */
export class LiveBuckets implements BucketLooker {
  private readonly redis: RedisConnection | undefined;
  private readonly store: RedisBuckets | undefined;
  private readonly snapshotRedis: RedisConnection | undefined;
  private readonly snapshots: RedisSnapshotStore | undefined;
  readonly reports: LiveReports;

  /**
   * @param url undefined: there is no Redis to ask, and every call fails
   * @param snapshotUrl of the Redis where gateways hear of changes, if it is another one
   */
  constructor(url: string | undefined, snapshotUrl = url) {
    this.redis = url === undefined ? undefined : createRedis(url, 'limiter');
    this.reports = new LiveReports(this.redis);
    if (this.redis === undefined || snapshotUrl === undefined) return;
    this.store = openBuckets(this.redis, { deadlineMs: DEADLINE_MS });
    this.snapshotRedis = snapshotUrl === url ? this.redis : createRedis(snapshotUrl, 'limiter');
    this.snapshots = new RedisSnapshotStore(this.snapshotRedis);
  }

  /** What time it is at Redis, as far as that is known here: by it overrides end. */
  get nowMs(): number {
    return Date.now() + (this.store?.clockOffsetMs ?? 0);
  }

  /** @throws ProblemError 503 if there is no Redis to ask */
  demandConfigured(): void {
    if (this.store === undefined) throw this.unavailable('this Rules API knows no Redis: set BUCKETS_REDIS_URL');
  }

  unavailable(detail: string): ProblemError {
    return bucketsUnavailable(detail);
  }

  /** @throws StoreUnavailableError, NewerRulesError */
  async look(take: BucketTake): Promise<BucketLevel> {
    if (this.store === undefined) throw new StoreUnavailableError('no Redis is configured');
    return this.store.look(take);
  }

  /** @throws StoreUnavailableError, InvalidOperationError, OperationNotPossibleError, NewerRulesError */
  async operate(key: string, bucket: Bucket, operation: BucketOperation): Promise<BucketReading> {
    if (this.store === undefined) throw new StoreUnavailableError('no Redis is configured');
    return this.store.operate(key, bucket, operation);
  }

  /** Tells every gateway to forget what it remembers of the merchant's refusals. Without it they find out within a second by themselves. */
  async tellGateways(merchantId: string): Promise<void> {
    await this.snapshots?.announce([merchantId]).catch(() => undefined);
  }

  close(): void {
    for (const redis of new Set([this.redis, this.snapshotRedis])) redis?.disconnect();
  }
}

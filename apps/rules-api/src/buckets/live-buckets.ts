import { type Redis } from 'ioredis';
import { type Bucket, type BucketOperation, type BucketReading, StoreUnavailableError } from '#limiter';
import { createRedis, RedisBucketStore, RedisSnapshotStore } from '#limiter-redis';

/** An administrator waits longer than a request may. Milliseconds. */
const DEADLINE_MS = 1_000;

/** The buckets in Redis as an operator sees them. The only place of the Rules API that knows Redis. */
export class LiveBuckets {
  private readonly redis: Redis | undefined;
  private readonly store: RedisBucketStore | undefined;
  private readonly snapshots: RedisSnapshotStore | undefined;

  /** @param url undefined: there is no Redis to ask, and every call fails */
  constructor(url: string | undefined) {
    if (url === undefined) return;
    this.redis = createRedis(url, 'limiter');
    this.store = new RedisBucketStore(this.redis, { deadlineMs: DEADLINE_MS });
    this.snapshots = new RedisSnapshotStore(this.redis);
  }

  get isConfigured(): boolean {
    return this.store !== undefined;
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
    this.redis?.disconnect();
  }
}

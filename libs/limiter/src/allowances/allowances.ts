import { type Bucket, bucketOf, decide } from '../buckets/bucket.js';
import { allPass, type TakeRequest } from '../buckets/take.js';
import { startLimits } from '../limits/limit-edit.js';
import { MemoryBucketStore } from '../stores/memory-bucket-store.js';
import type { Clock } from '../stores/ports.js';

export interface AllowancesOptions {
  /** How often at once. */
  readonly capacity: number;
  /** How often more, in each interval. */
  readonly refillTokens: number;
  readonly refillIntervalMs: number;
  /** So many of those who ask are remembered at most. */
  readonly most?: number;
  /** Milliseconds. */
  readonly clock?: Clock;
}

/** Bounds how often each of many may do something, by the same buckets as everything else here, in the memory of this process. */
export class Allowances {
  private readonly store: MemoryBucketStore;
  private readonly bucket: Bucket;

  constructor({ most, clock = Date.now, ...numbers }: AllowancesOptions) {
    this.store = new MemoryBucketStore(clock, most);
    this.bucket = bucketOf(startLimits([{ name: 'allowance', algorithm: 'token_bucket', refill: 'greedy', ...numbers }], 0)[0]!);
  }

  /** Takes from what this one may do. Answers 0, or after how many milliseconds it may be asked again, if it has not taken anything. */
  take(who: string, cost = 1): number | 'never' {
    const { bucket } = this;
    const request: TakeRequest = { takes: [{ key: who, bucket, cost }], holder: 0, spare: false };
    let retryAfterMs: number | 'never' = 0;
    this.store.take(request, (levels) => {
      if (levels instanceof Error || allPass(request, levels)) return;
      retryAfterMs = decide(bucket, levels[0]!, cost, false).retryAfterMs;
    });
    return retryAfterMs;
  }

  /** What was taken last does not count. */
  giveBack(who: string): void {
    this.store.operate(who, this.bucket, { kind: 'adjust', tokens: 1 }).catch(() => undefined);
  }
}

import { allPass, type Bucket, bucketOf, MemoryBucketStore, startLimits, type Clock, type TakeRequest } from '#limiter';

export interface AllowanceOptions {
  /** How often at once. */
  readonly capacity: number;
  /** After so many milliseconds once more. */
  readonly everyMs: number;
  /** So many of those who ask are remembered at most. */
  readonly most: number;
  /** Milliseconds. */
  readonly clock?: Clock;
}

/** Bounds how often somebody may do something, by a token bucket in this process. */
export class Allowance {
  private readonly store: MemoryBucketStore;
  private readonly bucket: Bucket;

  constructor({ capacity, everyMs, most, clock = Date.now }: AllowanceOptions) {
    this.store = new MemoryBucketStore(clock, most);
    const [limit] = startLimits(
      [{ name: 'allowance', algorithm: 'token_bucket', capacity, refillTokens: 1, refillIntervalMs: everyMs, refill: 'greedy' }],
      0,
    );
    this.bucket = bucketOf(limit!);
  }

  /** Whether it may do it now; counts it. */
  take(who: string): boolean {
    const request: TakeRequest = { takes: [{ key: who, bucket: this.bucket, cost: 1 }], holder: 0, spare: false };
    let allowed = false;
    this.store.take(request, (outcome) => (allowed = !(outcome instanceof Error) && allPass(request, outcome)));
    return allowed;
  }

  /** What was taken last does not count. */
  giveBack(who: string): void {
    this.store.operate(who, this.bucket, { kind: 'adjust', tokens: 1 }).catch(() => undefined);
  }
}

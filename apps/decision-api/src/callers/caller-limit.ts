import { allPass, bucketOf, decide, escaped, MemoryBucketStore, startLimits, type Bucket, type Clock } from '#limiter';
import { ProblemError } from '#platform';

/** Of a clock that is never set. */
const steadyClock: Clock = () => performance.timeOrigin + performance.now();

/** What one caller may ask of this process: a flood of it is refused before anything is decided. By the same buckets as everything else here, kept in memory. */
export class CallerLimit {
  private readonly store: MemoryBucketStore;
  private readonly bucket: Bucket | undefined;

  /** @param perSecond decisions a second, and as many at once; 0: any number */
  constructor(perSecond: number, clock = steadyClock) {
    this.store = new MemoryBucketStore(clock);
    if (perSecond === 0) return;
    const spec = {
      name: 'calls',
      algorithm: 'token_bucket',
      capacity: perSecond,
      refillTokens: perSecond,
      refillIntervalMs: 1_000,
      refill: 'greedy',
    } as const;
    this.bucket = bucketOf(startLimits([spec], clock())[0]!);
  }

  /** @throws ProblemError 429 */
  demand(caller: string, decisions: number): void {
    const { bucket } = this;
    if (bucket === undefined) return;
    const request = { takes: [{ key: escaped(caller), bucket, cost: decisions }], holder: 0, spare: false };
    let retryAfterMs: number | 'never' = 0;
    this.store.take(request, (levels) => {
      if (levels instanceof Error || allPass(request, levels)) return;
      retryAfterMs = decide(bucket, levels[0]!, decisions, false).retryAfterMs;
    });
    if (retryAfterMs !== 0) throw tooManyDecisions(retryAfterMs);
  }
}

function tooManyDecisions(retryAfterMs: number | 'never'): ProblemError {
  const seconds = retryAfterMs === 'never' ? undefined : Math.max(1, Math.ceil(retryAfterMs / 1_000));
  return new ProblemError({
    status: 429,
    type: 'too-many-attempts',
    code: 'decision_api.caller_over_limit',
    detail: 'this caller asks for more decisions a second than DECISION_API_CALLER_PER_SECOND; nothing was decided',
    headers: seconds === undefined ? {} : { 'retry-after': String(seconds) },
  });
}

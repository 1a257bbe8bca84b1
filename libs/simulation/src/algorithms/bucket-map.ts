import { bucketOf, startLimits, take, type BucketState, type Decision, type LimitSpec } from '#limiter';

/** The one place that calls the limiter: buckets of one limit, a bucket for each key, kept in a map. */
export class BucketMap {
  private readonly bucket: ReturnType<typeof bucketOf>;
  private readonly states = new Map<string, BucketState>();

  /** The limit starts at 0, as the run does. Throws InvalidLimitError. */
  constructor(spec: LimitSpec) {
    const [limit] = startLimits([spec], 0);
    this.bucket = bucketOf(limit!);
  }

  take(key: string, cost: number, nowMs: number): Decision {
    const { state, decision } = take(this.bucket, this.states.get(key), cost, nowMs);
    this.states.set(key, state);
    return decision;
  }

  /** What is kept for a key; undefined before its first request. */
  stateOf(key: string): BucketState | undefined {
    return this.states.get(key);
  }
}

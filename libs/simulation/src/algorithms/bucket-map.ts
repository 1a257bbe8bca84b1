import {
  allPass,
  bucketOf,
  clamped,
  decide,
  startLimits,
  startState,
  takeAll,
  type BucketState,
  type Decision,
  type LimitSpec,
} from '#limiter';

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
    const { bucket } = this;
    const nowUs = Math.round(nowMs * 1000);
    const stored = this.states.get(key);
    const states: (BucketState | undefined)[] = [stored === undefined ? startState(bucket, nowUs) : clamped(bucket, stored, nowUs)];
    const before = states[0]!;
    const request = { takes: [{ key, bucket, cost }], holder: 0, spare: false };
    const levels = takeAll(request, states, nowUs);
    this.states.set(key, states[0] ?? before);
    return decide(bucket, levels[0]!, cost, allPass(request, levels));
  }

  /** What is kept for a key; undefined before its first request. */
  stateOf(key: string): BucketState | undefined {
    return this.states.get(key);
  }
}

import { bucketOf, startLimits } from '#limiter';
import type { AskedTakes } from './take-call.js';

/** A token for each microsecond and room for a second of them: however many gateways probe, none is refused, so each probe writes. */
const [limit] = startLimits(
  [{ name: 'probe', algorithm: 'token_bucket', capacity: 1_000_000, refillTokens: 1000, refillIntervalMs: 1, refill: 'greedy' }],
  0,
);

const bucket = bucketOf(limit!);

/** The take that a breaker probes with, from a bucket of its own: in a cluster, at a key that leads to the master that is asked. */
export function probeOf(key: string): AskedTakes {
  return { takes: [{ key, bucket, cost: 1 }], holder: 0, spare: false, withFormer: false };
}

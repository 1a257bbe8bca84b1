import type { LeakyBucketSpec } from '../../limit.js';
import type { LimitAlgorithm } from '../algorithm.js';
import { rateOf } from '../exact-span.js';
import { greedyBucket, type GreedyBucket } from '../token-bucket/greedy.js';

/**
 * The leaky bucket (Turner 1986), as a greedy token bucket: what is missing from that one stands in this one. As a meter it promises the
 * same, at most capacity + rate * d in every time d. As a queue, where `onLimit` says to delay, what it admits leaves one by one at the
 * rate of the drain.
 */
export const leakyBucket: LimitAlgorithm<Omit<LeakyBucketSpec, 'name'>, GreedyBucket> = {
  bucketOf({ drainTokens, drainIntervalMs, onLimit }, beginning) {
    const bucket = greedyBucket(rateOf(drainTokens, drainIntervalMs), beginning);
    return onLimit ? { ...bucket, maxWaitUs: onLimit.delay.maxWaitMs * 1000 } : bucket;
  },
  quotaWindowMs: ({ drainTokens, drainIntervalMs }, tokens) => (tokens * drainIntervalMs) / drainTokens,
  paceOf: ({ drainTokens, drainIntervalMs }) => ({ tokens: 1, everyMs: drainIntervalMs / drainTokens }),
  slowedDown: ({ drainIntervalMs }, times) => ({ drainIntervalMs: drainIntervalMs * times }),
};

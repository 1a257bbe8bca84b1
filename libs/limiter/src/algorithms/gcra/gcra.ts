import type { GcraSpec } from '../../limit.js';
import type { LimitAlgorithm } from '../algorithm.js';
import { rateOf } from '../exact-span.js';
import { greedyBucket, type GreedyBucket } from '../token-bucket/greedy.js';

/**
 * The generic cell rate algorithm (ITU-T I.371, ATM Forum TM 4.0): decision for decision the greedy token bucket, because a theoretical
 * arrival time is the instant at which the bucket will be full. Promises the same: at most capacity + rate * d in every time d.
 */
export const gcra: LimitAlgorithm<Omit<GcraSpec, 'name'>, GreedyBucket> = {
  bucketOf: ({ refillTokens, refillIntervalMs }, beginning) => greedyBucket(rateOf(refillTokens, refillIntervalMs), beginning),
  quotaWindowMs: ({ refillTokens, refillIntervalMs }, tokens) => (tokens * refillIntervalMs) / refillTokens,
  paceOf: ({ refillTokens, refillIntervalMs }) => ({ tokens: 1, everyMs: refillIntervalMs / refillTokens }),
  slowedDown: ({ refillIntervalMs }, times) => ({ refillIntervalMs: refillIntervalMs * times }),
};

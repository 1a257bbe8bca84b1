import { CAPACITY, INTERVAL_MS, INTERVAL_TOKENS, limitVariant, type LimitSpecOf } from '../fields/common-fields.js';
import type { Fields } from '../fields/field.js';
import type { LimitAlgorithm } from './algorithm.js';
import { rateOf } from './exact-span.js';
import { rateFaults } from './rate-faults.js';
import { greedyBucket, type GreedyBucket } from './token-bucket/greedy.js';

const FIELDS = {
  capacity: { ...CAPACITY, required: true, example: 16, explanation: 'The burst, and the one request beyond it. With 0 nothing passes.' },
  refillTokens: { ...INTERVAL_TOKENS, required: true, example: 30, explanation: 'Requests of each interval, evenly spread.' },
  refillIntervalMs: { ...INTERVAL_MS, required: true, example: 60_000, explanation: 'Length of an interval.' },
} as const satisfies Fields;

type GcraSpec = LimitSpecOf<'gcra', typeof FIELDS>;

const TABLE = limitVariant('The generic cell rate algorithm. It decides as the greedy token bucket does.', FIELDS, [
  { faults: (spec: GcraSpec) => rateFaults(spec, 'refillTokens', spec.refillTokens, spec.refillIntervalMs) },
]);

/**
 * The generic cell rate algorithm (ITU-T I.371, ATM Forum TM 4.0): decision for decision the greedy token bucket, because a theoretical
 * arrival time is the instant at which the bucket will be full. Promises the same: at most capacity + rate * d in every time d.
 */
export const gcra: LimitAlgorithm<GcraSpec, GreedyBucket, typeof TABLE> = {
  table: TABLE,
  bucketOf: ({ refillTokens, refillIntervalMs }, beginning) => greedyBucket(rateOf(refillTokens, refillIntervalMs), beginning),
  quotaWindowMs: ({ refillTokens, refillIntervalMs }, tokens) => (tokens * refillIntervalMs) / refillTokens,
  paceOf: ({ refillTokens, refillIntervalMs }) => ({ tokens: 1, everyMs: refillIntervalMs / refillTokens }),
  slowedDown: ({ refillIntervalMs }, times) => ({ refillIntervalMs: refillIntervalMs * times }),
};

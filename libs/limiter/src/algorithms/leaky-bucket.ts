import { CAPACITY, INTERVAL_MS, INTERVAL_TOKENS, limitVariant, relationFault, type LimitSpecOf } from '../fields/common-fields.js';
import type { Fields } from '../fields/field.js';
import type { LimitAlgorithm } from './algorithm.js';
import { rateOf } from './exact-span.js';
import { rateFaults } from './rate-faults.js';
import { greedyBucket, type GreedyBucket } from './token-bucket/greedy.js';

/** No client waits longer for the first byte of an answer. */
export const MAX_WAIT_MS = {
  kind: 'whole_number',
  min: 1,
  max: 30_000,
  unit: 'milliseconds',
  required: true,
  example: 2_000,
  explanation: 'A request that would wait longer is refused.',
} as const;

const FIELDS = {
  capacity: {
    ...CAPACITY,
    required: true,
    example: 10,
    explanation: 'What the bucket holds before it overflows. With 0 nothing passes.',
  },
  drainTokens: { ...INTERVAL_TOKENS, required: true, example: 5, explanation: 'What drains in each interval, evenly spread.' },
  drainIntervalMs: { ...INTERVAL_MS, required: true, example: 1_000, explanation: 'Length of an interval.' },
  onLimit: {
    kind: 'object',
    fields: {
      delay: {
        kind: 'object',
        fields: { maxWaitMs: MAX_WAIT_MS },
        required: true,
        explanation: 'Delays requests, but not for longer than this.',
      },
    },
    expected: `must be { "delay": { "maxWaitMs": n } } with a whole number from ${MAX_WAIT_MS.min} to ${MAX_WAIT_MS.max}`,
    explanation: 'Makes the bucket a queue: a request that is admitted waits its turn, so that requests leave at the rate of the drain.',
  },
} as const satisfies Fields;

type LeakyBucketSpec = LimitSpecOf<'leaky_bucket', typeof FIELDS>;

const NO_ELASTIC_QUEUE = "must be 'hard' or 'soft' for a queue: what is over its limit would overtake those that wait";

const TABLE = limitVariant('A bucket that fills with what is admitted and drains at a constant rate.', FIELDS, [
  {
    faults: (spec: LeakyBucketSpec) =>
      spec.throttle === 'elastic' && spec.onLimit !== undefined
        ? [relationFault(spec, 'throttle', 'not_applicable', NO_ELASTIC_QUEUE)]
        : [],
    schema: { if: { required: ['onLimit'] }, then: { properties: { throttle: { enum: ['hard', 'soft'] } } } },
  },
  { faults: (spec: LeakyBucketSpec) => rateFaults(spec, 'drainTokens', spec.drainTokens, spec.drainIntervalMs) },
]);

/**
 * The leaky bucket (Turner 1986), as a greedy token bucket: what is missing from that one stands in this one. As a meter it promises the
 * same, at most capacity + rate * d in every time d. As a queue, where `onLimit` says to delay, what it admits leaves one by one at the
 * rate of the drain.
 */
export const leakyBucket: LimitAlgorithm<LeakyBucketSpec, GreedyBucket, typeof TABLE> = {
  table: TABLE,
  bucketOf({ drainTokens, drainIntervalMs, onLimit }, beginning) {
    const bucket = greedyBucket(rateOf(drainTokens, drainIntervalMs), beginning);
    return onLimit ? { ...bucket, maxWaitUs: onLimit.delay.maxWaitMs * 1000 } : bucket;
  },
  // In a queue, as many as wait for no longer than they may.
  mostAtOnce: ({ capacity, drainTokens, drainIntervalMs, onLimit }) =>
    onLimit ? Math.min(capacity, Math.floor((onLimit.delay.maxWaitMs * drainTokens) / drainIntervalMs) + 1) : capacity,
  quotaWindowMs: ({ drainTokens, drainIntervalMs }, tokens) => (tokens * drainIntervalMs) / drainTokens,
  paceOf: ({ drainTokens, drainIntervalMs }) => ({ tokens: 1, everyMs: drainIntervalMs / drainTokens }),
  slowedDown: ({ drainIntervalMs }, times) => ({ drainIntervalMs: drainIntervalMs * times }),
};

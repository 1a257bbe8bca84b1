import { CAPACITY, INTERVAL_MS, INTERVAL_TOKENS, limitVariant, relationFault, type LimitSpecOf } from '../../common-fields.js';
import type { Fields } from '../../field.js';
import { rateFaults } from '../rate-faults.js';

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

/**
 * The leaky bucket (Turner 1986): what was admitted fills it, and it drains at a constant rate. As a meter it refuses what would
 * overflow; as a queue, where `onLimit` says to delay, what is admitted waits its turn, so that it leaves at that rate.
 */
export type LeakyBucketSpec = LimitSpecOf<'leaky_bucket', typeof FIELDS>;

const NO_ELASTIC_QUEUE = "must be 'hard' or 'soft' for a queue: what is over its limit would overtake those that wait";

export const LEAKY_BUCKET = limitVariant('A bucket that fills with what is admitted and drains at a constant rate.', FIELDS, [
  {
    faults: (spec: LeakyBucketSpec) =>
      spec.throttle === 'elastic' && spec.onLimit !== undefined
        ? [relationFault(spec, 'throttle', 'not_applicable', NO_ELASTIC_QUEUE)]
        : [],
    schema: { if: { required: ['onLimit'] }, then: { properties: { throttle: { enum: ['hard', 'soft'] } } } },
  },
  { faults: (spec: LeakyBucketSpec) => rateFaults(spec, 'drainTokens', spec.drainTokens, spec.drainIntervalMs) },
]);

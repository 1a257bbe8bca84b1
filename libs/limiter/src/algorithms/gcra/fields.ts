import { CAPACITY, INTERVAL_MS, INTERVAL_TOKENS, limitVariant, type LimitSpecOf } from '../../common-fields.js';
import type { Fields } from '../../field.js';
import { rateFaults } from '../rate-faults.js';

const FIELDS = {
  capacity: { ...CAPACITY, required: true, example: 16, explanation: 'The burst, and the one request beyond it. With 0 nothing passes.' },
  refillTokens: { ...INTERVAL_TOKENS, required: true, example: 30, explanation: 'Requests of each interval, evenly spread.' },
  refillIntervalMs: { ...INTERVAL_MS, required: true, example: 60_000, explanation: 'Length of an interval.' },
} as const satisfies Fields;

/** The generic cell rate algorithm (ITU-T I.371, ATM Forum TM 4.0): decision for decision the greedy token bucket. */
export type GcraSpec = LimitSpecOf<'gcra', typeof FIELDS>;

export const GCRA = limitVariant('The generic cell rate algorithm. It decides as the greedy token bucket does.', FIELDS, [
  { faults: (spec: GcraSpec) => rateFaults(spec, 'refillTokens', spec.refillTokens, spec.refillIntervalMs) },
]);

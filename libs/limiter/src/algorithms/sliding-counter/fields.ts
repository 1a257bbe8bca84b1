import { CAPACITY, INTERVAL_MS, limitVariant, relationFault, type LimitSpecOf } from '../../fields/common-fields.js';
import type { Fields, RelationFault } from '../../fields/field.js';
import { greatestCommonDivisor } from '../exact-span.js';

const FIELDS = {
  limit: { ...CAPACITY, required: true, example: 100, explanation: 'Tokens of a window, about. With 0 nothing passes.' },
  windowMs: { ...INTERVAL_MS, required: true, example: 60_000, explanation: 'Length of the window.' },
  parts: {
    kind: 'whole_number',
    min: 1,
    max: 60,
    default: 1,
    example: 6,
    explanation:
      'Parts of the window that are counted one by one. More parts come closer to the sliding log; one part is the classic pair.',
  },
} as const satisfies Fields;

export type SlidingCounterSpec = LimitSpecOf<'sliding_counter', typeof FIELDS>;

export const SLIDING_COUNTER = limitVariant(
  'Counts in parts of a window. The part that is leaving the window counts by how much of it is still inside.',
  FIELDS,
  [{ faults: partFaults }],
);

function partFaults(spec: SlidingCounterSpec): RelationFault[] {
  const { windowMs, parts } = spec;
  if ((windowMs * 1000) % parts === 0) return [];
  const stepMs = parts / greatestCommonDivisor(parts, 1000);
  const steps = Math.min(Math.max(1, Math.round(windowMs / stepMs)), Math.floor(INTERVAL_MS.max / stepMs));
  const expected = `must be whole microseconds when divided into ${parts} parts`;
  return [relationFault(spec, 'windowMs', 'not_divisible', expected, steps * stepMs)];
}

import { INTERVAL_MS, limitVariant, type LimitSpecOf } from '../../fields/common-fields.js';
import type { Fields } from '../../fields/field.js';

const FIELDS = {
  /** Each request is sixteen bytes, which every take moves. */
  limit: {
    kind: 'whole_number',
    min: 0,
    max: 1_000,
    unit: 'tokens',
    scales: true,
    because: ', because a log keeps every request (sliding_counter has no such bound)',
    required: true,
    example: 100,
    explanation: 'Tokens of any window of this length. With 0 nothing passes.',
  },
  windowMs: { ...INTERVAL_MS, required: true, example: 60_000, explanation: 'Length of the window.' },
} as const satisfies Fields;

export type SlidingLogSpec = LimitSpecOf<'sliding_log', typeof FIELDS>;

export const SLIDING_LOG = limitVariant('Remembers every request of the window. It is exact, and its memory grows with the limit.', FIELDS);

import { limitVariant, type LimitSpecOf } from '../../fields/common-fields.js';
import type { Fields } from '../../fields/field.js';

const FIELDS = {
  /** Each slot is twenty-four bytes, which every take moves. */
  limit: {
    kind: 'whole_number',
    min: 0,
    max: 1_000,
    unit: 'requests',
    scales: true,
    because: ', because every slot is kept',
    required: true,
    example: 10,
    explanation: 'Requests in flight. A slot becomes free at the end of the response. With 0 nothing passes.',
  },
  /** A day: a request that takes longer is none that a gateway waits for. */
  slotTimeoutMs: {
    kind: 'whole_number',
    min: 1,
    max: 86_400_000,
    unit: 'milliseconds',
    required: true,
    example: 30_000,
    explanation:
      'The time after which a slot is free again, whether or not it was released, in case a gateway has died. It is longer than a response takes.',
  },
} as const satisfies Fields;

export type ConcurrencySpec = LimitSpecOf<'concurrency', typeof FIELDS>;

export const CONCURRENCY = limitVariant(
  'At most so many requests at once. A slot is held until the end of the response, or until its time is over.',
  FIELDS,
);

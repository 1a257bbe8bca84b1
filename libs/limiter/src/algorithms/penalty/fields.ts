import type { Fields, SpecOf } from '../../fields/field.js';

/** Of a penalty: what counts, and for how long it blocks. */
export const PENALTY_FIELDS = {
  refusals: {
    kind: 'whole_number',
    min: 1,
    max: 1_000_000,
    unit: 'requests',
    required: true,
    example: 100,
    explanation: 'With this many refusals in a window the block begins.',
  },
  windowMs: {
    kind: 'whole_number',
    min: 1_000,
    max: 86_400_000,
    unit: 'milliseconds',
    required: true,
    example: 60_000,
    explanation: 'Length of the window, which begins with the first refusal.',
  },
  /** A block is for a client that has gone wrong, not a way to lock out a merchant: a day at most. */
  blockMs: {
    kind: 'whole_number',
    min: 1_000,
    max: 86_400_000,
    unit: 'milliseconds',
    required: true,
    example: 300_000,
    explanation: 'The time for which everything is refused.',
  },
} as const satisfies Fields;

/** After so many refusals in a window, whoever is behind a bucket key is refused everything for a time. */
export type Penalty = SpecOf<typeof PENALTY_FIELDS>;

import type { Fields, RelationFault, FaultReason, SpecOf, Variant } from './field.js';
import { shown } from './shown.js';
import { LIMIT_NAME, TIME_ZONE } from './text-formats.js';

/** Fields that every limit has, and fields that several algorithms share. */

/**
 * What an edit of the numbers does to the tokens of live buckets. `as_is` keeps them, as far as they fit; `proportional` keeps
 * their share of the capacity; `reset` fills up; `additive` gives what the capacity has grown by on top.
 */
export const ON_EDITS = ['as_is', 'proportional', 'reset', 'additive'] as const;
export type OnEdit = (typeof ON_EDITS)[number];

/**
 * `hard` refuses what is over the limit; `soft` lets some of it pass, `excessPercent` of the limit, and says so; `elastic` lets it
 * pass while the platform has spare capacity, says so, and is hard otherwise.
 */
export const THROTTLES = ['hard', 'soft', 'elastic'] as const;
export type Throttle = (typeof THROTTLES)[number];

export const COMMON_FIELDS = {
  name: {
    kind: 'text',
    format: LIMIT_NAME,
    required: true,
    example: 'burst',
    explanation: 'Names the limit in the RateLimit headers. It is different from the names of the other limits of the rule.',
  },
  onEdit: {
    kind: 'choice',
    values: ON_EDITS,
    default: 'as_is',
    absentMeans: 'as_is',
    explanation:
      'What an edit of the numbers does to the tokens of live buckets: as_is keeps them, proportional keeps their share of the capacity, ' +
      'reset fills the bucket, additive adds what the capacity has grown by.',
  },
  throttle: {
    kind: 'choice',
    values: THROTTLES,
    default: 'hard',
    absentMeans: 'hard',
    example: 'soft',
    explanation:
      'How strict the limit is: hard refuses what is over the limit, soft lets excessPercent of the limit pass above it and says so, ' +
      'elastic lets requests pass while the platform has spare capacity and says so.',
  },
  excessPercent: {
    kind: 'whole_number',
    min: 1,
    max: 100,
    unit: 'percent',
    onlyFor: { field: 'throttle', value: 'soft' },
    example: 10,
    explanation: 'How much may pass above a soft limit, as a share of the limit.',
  },
} as const satisfies Fields;

/** The spec of a limit of an algorithm with these fields. */
export type LimitSpecOf<A extends string, F> = SpecOf<
  { readonly algorithm: { kind: 'choice'; values: readonly [A]; required: true } } & typeof COMMON_FIELDS & F
>;

/** A number of tokens. */
export const TOKENS = { kind: 'whole_number', min: 0, max: 1_000_000_000, unit: 'tokens' } as const;

/** What a limit may hold in tokens. 0 is a limit for nobody: nothing passes, ever. */
export const CAPACITY = { ...TOKENS, scales: true } as const;

/** Tokens of an interval. */
export const INTERVAL_TOKENS = { kind: 'whole_number', min: 1, max: 1_000_000_000, unit: 'tokens', scales: true } as const;

/** One millisecond to a leap year. */
export const INTERVAL_MS = { kind: 'whole_number', min: 1, max: 366 * 86_400_000, unit: 'milliseconds' } as const;

export const CALENDAR_UNITS = ['minute', 'hour', 'day', 'week', 'month', 'year'] as const;
export type CalendarUnit = (typeof CALENDAR_UNITS)[number];

export const CALENDAR = { kind: 'choice', values: CALENDAR_UNITS } as const;

export const CALENDAR_TIME_ZONE = {
  kind: 'text',
  format: TIME_ZONE,
  explanation: 'The IANA name of the time zone of the calendar, like Europe/Berlin. Without one, the time zone of the merchant counts.',
} as const;

/** A table of an algorithm's own fields, with those that every limit has. */
export function limitVariant<const F extends Fields>(
  explanation: string,
  fields: F,
  relations: Variant['relations'] = [],
): { readonly explanation: string; readonly fields: typeof COMMON_FIELDS & F; readonly relations: Variant['relations'] } {
  return { explanation, fields: { ...COMMON_FIELDS, ...fields }, relations };
}

/** A fault of a field whose value does not go with others. */
export function relationFault(spec: object, field: string, reason: FaultReason, expected: string, nearest?: number): RelationFault {
  const detail = `${expected}, got ${shown((spec as Record<string, unknown>)[field])}`;
  return nearest === undefined ? { field, reason, detail } : { field, reason, detail: `${detail}; the nearest is ${nearest}`, nearest };
}

import {
  CALENDAR,
  CALENDAR_TIME_ZONE,
  CAPACITY,
  INTERVAL_MS,
  INTERVAL_TOKENS,
  limitVariant,
  relationFault,
  TOKENS,
  type LimitSpecOf,
} from '../../fields/common-fields.js';
import type { Fields, RelationFault } from '../../fields/field.js';
import { rateFaults, surplusFaults } from '../rate-faults.js';

const REFILLS = ['greedy', 'interval'] as const;
export type Refill = (typeof REFILLS)[number];

export const ALIGNS = ['limit', 'clock'] as const;
export type Align = (typeof ALIGNS)[number];

/** Steps of the calendar in which an empty bucket fills: a decision may have to know all of them. Of years, those within ten years. */
const MAX_CALENDAR_STEPS = 60;
const MAX_YEARLY_STEPS = 10;

const FIELDS = {
  capacity: {
    ...CAPACITY,
    required: true,
    example: 10,
    explanation: 'Tokens that the bucket holds: the permitted burst. With 0 nothing passes.',
  },
  refillTokens: { ...INTERVAL_TOKENS, required: true, example: 5, explanation: 'Tokens that come back in each interval.' },
  refillIntervalMs: {
    ...INTERVAL_MS,
    required: { unless: 'calendar' },
    example: 1_000,
    explanation: 'Length of an interval. It is required unless there is a calendar.',
  },
  refill: {
    kind: 'choice',
    values: REFILLS,
    default: 'greedy',
    example: 'interval',
    explanation: 'How tokens come back: greedy refills continuously, interval in whole steps.',
  },
  align: {
    kind: 'choice',
    values: ALIGNS,
    absentMeans: 'limit',
    example: 'clock',
    explanation: 'For refill interval: limit, the default, counts intervals from the start of the limit; clock counts them from 1970.',
  },
  calendar: {
    ...CALENDAR,
    explanation:
      'For refill interval, instead of refillIntervalMs: a step at each start of a minute, hour, day and so on in timeZone. Weeks begin on Monday. ' +
      `At most ${MAX_CALENDAR_STEPS} steps may fill the bucket, and at most ${MAX_YEARLY_STEPS} if they are years.`,
  },
  timeZone: CALENDAR_TIME_ZONE,
  initialTokens: {
    ...TOKENS,
    explanation:
      'The level at which the limit starts, if it is not full. A level above the capacity is a launch surplus that drains at the refill rate.',
  },
} as const satisfies Fields;

export type TokenBucketSpec = LimitSpecOf<'token_bucket', typeof FIELDS>;

export const TOKEN_BUCKET = limitVariant(
  'A bucket that refills. Requests take tokens; without enough tokens a request is refused.',
  FIELDS,
  [
    {
      faults: ({ refill, ...spec }: TokenBucketSpec) =>
        refill === 'greedy' ? absent(spec, ['align', 'calendar', 'timeZone'], "goes with refill 'interval' only") : [],
      schema: {
        if: { properties: { refill: { const: 'interval' } }, required: ['refill'] },
        else: { properties: { align: false, calendar: false, timeZone: false } },
      },
    },
    {
      faults: (spec: TokenBucketSpec) =>
        spec.calendar === undefined
          ? []
          : absent(spec, ['refillIntervalMs', 'align'], 'must not be given with a calendar, which says when steps are'),
      schema: { if: { required: ['calendar'] }, then: { properties: { refillIntervalMs: false, align: false } } },
    },
    {
      faults: (spec: TokenBucketSpec) => (spec.calendar === undefined ? absent(spec, ['timeZone'], 'goes with a calendar only') : []),
      schema: { dependentRequired: { timeZone: ['calendar'] } },
    },
    {
      faults: (spec: TokenBucketSpec) =>
        spec.calendar === undefined ? rateFaults(spec, 'refillTokens', spec.refillTokens, spec.refillIntervalMs!) : calendarFaults(spec),
    },
  ],
);

function absent(spec: Partial<TokenBucketSpec>, fields: readonly (keyof TokenBucketSpec)[], expected: string): RelationFault[] {
  return fields.filter((field) => spec[field] !== undefined).map((field) => relationFault(spec, field, 'not_applicable', expected));
}

function calendarFaults(spec: TokenBucketSpec): RelationFault[] {
  const surplus = surplusFaults(spec);
  if (surplus.length > 0) return surplus;
  const { capacity, refillTokens, calendar, throttle, excessPercent = 0 } = spec;
  const steps = calendar === 'year' ? MAX_YEARLY_STEPS : MAX_CALENDAR_STEPS;
  const most = steps * refillTokens;
  const percent = throttle === 'soft' ? excessPercent : 0;
  const withExcess = (tokens: number): number => tokens + Math.floor((tokens * percent) / 100);
  if (withExcess(capacity) <= most) return [];
  // With its excess the capacity grows by one or two for each token, so the division finds it or the one below it.
  let nearest = Math.floor((most * 100) / (100 + percent));
  while (withExcess(nearest + 1) <= most) nearest++;
  const counted = throttle === 'soft' ? ', counting the excess of a soft limit' : '';
  return [relationFault(spec, 'capacity', 'too_many_steps', `must be filled within ${steps} steps of the calendar${counted}`, nearest)];
}

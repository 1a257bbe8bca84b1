import {
  CALENDAR,
  CALENDAR_TIME_ZONE,
  CAPACITY,
  INTERVAL_MS,
  limitVariant,
  relationFault,
  type LimitSpecOf,
} from '../../fields/common-fields.js';
import type { Fields } from '../../fields/field.js';

export const WINDOW_STARTS = ['clock', 'first_request'] as const;
export type WindowStart = (typeof WINDOW_STARTS)[number];

const FIELDS = {
  limit: { ...CAPACITY, required: true, example: 1_000, explanation: 'Tokens of a window. With 0 nothing passes.' },
  windowMs: {
    ...INTERVAL_MS,
    example: 60_000,
    explanation: 'Length of a window; windows are counted from 1970. Either this or calendar is required.',
  },
  calendar: {
    ...CALENDAR,
    explanation: 'Makes windows of the calendar in timeZone. Weeks begin on Monday, years on the first of January.',
  },
  timeZone: CALENDAR_TIME_ZONE,
  start: {
    kind: 'choice',
    values: WINDOW_STARTS,
    default: 'clock',
    explanation:
      'When windows begin: clock makes them follow the clock; with first_request the first request after a window opens the next.',
  },
} as const satisfies Fields;

export type FixedWindowSpec = LimitSpecOf<'fixed_window', typeof FIELDS>;

export const FIXED_WINDOW = limitVariant(
  'Counts in windows that follow one another. Up to twice the limit may pass around a boundary.',
  FIELDS,
  [
    {
      faults: ({ windowMs, calendar }: FixedWindowSpec) =>
        (windowMs === undefined) === (calendar === undefined)
          ? [
              {
                field: 'windowMs',
                reason: windowMs === undefined ? 'missing' : 'not_applicable',
                detail: 'must be given, or calendar instead of it, but not both',
              },
            ]
          : [],
      schema: { oneOf: [{ required: ['windowMs'] }, { required: ['calendar'] }] },
    },
    {
      faults: (spec: FixedWindowSpec) =>
        spec.calendar !== undefined && spec.start === 'first_request'
          ? [relationFault(spec, 'start', 'not_applicable', "must be 'clock' with a calendar")]
          : [],
      schema: { if: { required: ['calendar'] }, then: { properties: { start: { const: 'clock' } } } },
    },
    {
      faults: (spec: FixedWindowSpec) =>
        spec.calendar === undefined && spec.timeZone !== undefined
          ? [relationFault(spec, 'timeZone', 'not_applicable', 'goes with a calendar only')]
          : [],
      schema: { dependentRequired: { timeZone: ['calendar'] } },
    },
  ],
);

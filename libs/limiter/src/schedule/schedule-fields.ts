import type { CustomField, Fields, SpecOf, TextFormat } from '../field.js';
import { fault, faultOf } from '../field-faults.js';
import { TIME_ZONE, textFormat } from '../text-formats.js';
import { isMoment, MOMENT } from './moment.js';

/** When a rule applies, as tables of fields. */

export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;

const TIME_OF_DAY_PATTERN = /^(?:[01]\d|2[0-3]):[0-5]\d$/;
const END_OF_DAY_PATTERN = /^(?:(?:[01]\d|2[0-3]):[0-5]\d|24:00)$/;

const timeFormat = (pattern: RegExp, expected: string): TextFormat =>
  textFormat(expected, (text) => pattern.test(text), { pattern: pattern.source });

const WEEKLY_FIELDS = {
  days: {
    kind: 'list',
    of: { kind: 'choice', values: WEEKDAYS, explanation: 'A day of the week.' },
    min: 1,
    max: WEEKDAYS.length,
    required: true,
    example: ['mon', 'tue'],
    explanation: 'The days on which the window begins.',
  },
  from: {
    kind: 'text',
    format: timeFormat(TIME_OF_DAY_PATTERN, 'must be a time of day from 00:00 to 23:59, like 01:00'),
    required: true,
    example: '01:00',
    explanation: 'The first minute of the window, as clocks in the time zone show it.',
  },
  to: {
    ...endOfWindow(timeFormat(END_OF_DAY_PATTERN, 'must be a time of day from 00:00 to 24:00, like 06:00')),
    required: true,
    example: '06:00',
    explanation: 'The first minute behind the window. If it is earlier than from, the window ends on the next day.',
  },
} as const satisfies Fields;

/** A window that ends when it begins may be meant as none or as a whole day. */
function endOfWindow(format: TextFormat): CustomField<string> {
  return {
    kind: 'custom',
    check: (value, place, { from }) => {
      if (typeof value !== 'string') return [fault(place, 'wrong_type', format.expected, value)];
      const expected = format.fault(value);
      if (expected !== undefined) return [fault(place, 'malformed', expected, value)];
      return value === from ? [faultOf(place, 'not_applicable', 'must differ from from; a whole day is from 00:00 to 24:00')] : [];
    },
    schema: { type: 'string', ...format.schema },
    explanation: '',
  };
}

const SCHEDULE_FIELDS = {
  timeZone: {
    kind: 'text',
    format: TIME_ZONE,
    example: 'Europe/Berlin',
    explanation: "An IANA time zone. Without one it is the merchant's.",
  },
  weekly: {
    kind: 'list',
    of: { kind: 'object', fields: WEEKLY_FIELDS, explanation: 'A window of each week.' },
    min: 1,
    max: 20,
    required: true,
    explanation: 'The windows in which the rule applies.',
  },
} as const satisfies Fields;

export const SCHEDULE = {
  kind: 'object',
  fields: SCHEDULE_FIELDS,
  nullable: true,
  example: { timeZone: 'Europe/Berlin', weekly: [{ days: ['mon', 'tue'], from: '01:00', to: '06:00' }] },
  explanation:
    'The rule applies only while clocks in the time zone show a time within one of these windows. Without a schedule it always applies.',
} as const;

/** In which hours of the week a rule applies. */
export type Schedule = SpecOf<typeof SCHEDULE_FIELDS>;

export const VALID_FROM = {
  kind: 'text',
  format: MOMENT,
  nullable: true,
  example: '2026-12-01T00:00:00Z',
  explanation: 'The rule applies from this time on.',
} as const;

export const VALID_TO: CustomField<string | null> = {
  kind: 'custom',
  check: (value, place, { validFrom }) => {
    if (value === null) return [];
    if (typeof value !== 'string') return [fault(place, 'wrong_type', MOMENT.expected, value)];
    const expected = MOMENT.fault(value);
    if (expected !== undefined) return [fault(place, 'malformed', expected, value)];
    const ends = typeof validFrom === 'string' && isMoment(validFrom) && Date.parse(value) <= Date.parse(validFrom);
    return ends ? [fault(place, 'out_of_range', 'must be later than validFrom', value)] : [];
  },
  schema: { type: ['string', 'null'], ...MOMENT.schema },
  example: '2026-12-24T00:00:00Z',
  explanation: 'The rule applies until this time, which is the first at which it does not.',
};

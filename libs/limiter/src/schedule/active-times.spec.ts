import * as fc from 'fast-check';
import { Temporal } from 'temporal-polyfill';
import { objectFaults } from '../fields/field-faults.js';
import { RULE_FIELDS, type Rule } from '../rules/rule.js';
import { activeTimes } from './active-times.js';
import { WEEKDAYS, type Schedule } from './schedule-fields.js';

const HOUR = 3_600_000;
const active = (rule: Partial<Rule>, zone?: string) => activeTimes(rule as Rule, zone);
const faultsOf = (rule: object) =>
  objectFaults({ name: 'r', limits: [{ name: 'a', algorithm: 'fixed_window', limit: 1, windowMs: 1000 }], ...rule }, RULE_FIELDS, {
    pointer: '',
    code: 'rule',
  }).map(({ pointer, code }) => `${pointer} ${code}`);

/** What a schedule means: what clocks on the wall and the calendar show. */
function naive({ timeZone, weekly }: Schedule, nowMs: number): boolean {
  const now = Temporal.Instant.fromEpochMilliseconds(nowMs).toZonedDateTimeISO(timeZone!);
  const time = now.toPlainTime().toString().slice(0, 5);
  const today = WEEKDAYS[now.dayOfWeek - 1]!;
  const yesterday = WEEKDAYS[(now.dayOfWeek + 5) % 7]!;
  return weekly.some(({ days, from, to }) =>
    to > from
      ? days.includes(today) && time >= from && time < to
      : (days.includes(today) && time >= from) || (days.includes(yesterday) && time < to),
  );
}

const clock = fc
  .tuple(fc.nat(23), fc.constantFrom(0, 1, 30, 59))
  .map(([h, m]) => `${String(h).padStart(2, '0')}:${String(m).padStart(2, '0')}`);
const window = fc
  .record({ days: fc.subarray([...WEEKDAYS], { minLength: 1 }), from: clock, to: fc.oneof(clock, fc.constant('24:00')) })
  .filter(({ from, to }) => from !== to);

/** Half-hour changes, changes at midnight, none, and a day that was left out. */
const ZONES = [
  'Europe/Berlin',
  'Australia/Lord_Howe',
  'America/New_York',
  'Asia/Kathmandu',
  'Africa/Cairo',
  'America/Sao_Paulo',
  'Pacific/Apia',
  'Etc/UTC',
];

test('a schedule is what clocks on the wall show, all year, also on the days that change them', () => {
  let inside = 0;
  let looked = 0;
  fc.assert(
    fc.property(
      fc.constantFrom(...ZONES),
      fc.array(window, { minLength: 1, maxLength: 3 }),
      fc.constantFrom(2011, 2026),
      fc.nat(HOUR),
      (timeZone, weekly, year, offset) => {
        const schedule = { timeZone, weekly };
        const isActive = active({ schedule })!;
        const start = Temporal.Instant.fromEpochMilliseconds(Date.UTC(year, 0, 1)).toZonedDateTimeISO(timeZone);
        const instants = new Set<number>();
        for (let i = 0; i < 20; i++) instants.add(Date.UTC(year, 0, 1) + ((offset * 7919 * (i + 1)) % (366 * 24 * HOUR)));
        let change = start.getTimeZoneTransition('next');
        for (; change !== null && change.year <= year; change = change.getTimeZoneTransition('next')) {
          for (let minutes = -150; minutes <= 150; minutes += 15) instants.add(change.epochMilliseconds + minutes * 60_000);
          instants.add(change.epochMilliseconds - 1);
        }
        // In no order: clocks step back, and machines differ.
        for (const nowMs of [...instants].sort((a, b) => (a % 7919) - (b % 7919))) {
          const expected = naive(schedule, nowMs);
          expect([timeZone, nowMs, isActive(nowMs) === undefined]).toEqual([timeZone, nowMs, expected]);
          looked++;
          if (expected) inside++;
        }
      },
    ),
    { numRuns: 60 },
  );
  expect(inside).toBeGreaterThan(looked / 10);
});

describe('a window that clocks change', () => {
  const weekly = [{ days: ['sun' as const], from: '02:15', to: '02:45' }];
  const during = (from: string, hours: number) => {
    const isActive = active({ schedule: { timeZone: 'Europe/Berlin', weekly } })!;
    const startMs = Date.parse(from);
    return Array.from({ length: hours * 60 }, (_, i) => startMs + i * 60_000).filter((nowMs) => isActive(nowMs) === undefined).length;
  };
  it('applies half an hour on other Sundays', () => expect(during('2026-06-07T00:00:00+02:00', 24)).toBe(30));
  it('does not apply when clocks leave it out', () => expect(during('2026-03-29T00:00:00+01:00', 23)).toBe(0));
  it('applies twice when clocks show it twice', () => expect(during('2026-10-25T00:00:00+02:00', 25)).toBe(60));
});

test('a schedule without a time zone follows the one of the merchant', () => {
  const schedule = { weekly: [{ days: [...WEEKDAYS], from: '01:00', to: '06:00' }] };
  const at = Date.parse('2026-06-01T20:00:00Z');
  expect([active({ schedule }, 'Asia/Tokyo')!(at), active({ schedule }, 'Europe/Berlin')!(at), active({ schedule })!(at)]).toEqual([
    undefined,
    'outside_schedule',
    'outside_schedule',
  ]);
});

test('a window over midnight ends on the next day, and over the end of the week too', () => {
  const isActive = active({ schedule: { timeZone: 'Etc/UTC', weekly: [{ days: ['sun'], from: '22:00', to: '06:00' }] } })!;
  const at = (text: string) => isActive(Date.parse(text)) === undefined;
  expect(['2026-06-07T21:59:59Z', '2026-06-07T22:00:00Z', '2026-06-08T05:59:59Z', '2026-06-08T06:00:00Z'].map(at)).toEqual([
    false,
    true,
    true,
    false,
  ]);
});

test('a validity begins with its first instant and ends before its last', () => {
  const isActive = active({ validFrom: '2026-12-01T00:00:00+01:00', validTo: '2026-12-24T00:00:00Z' })!;
  const at = (text: string) => isActive(Date.parse(text));
  expect(at('2026-11-30T22:59:59.999Z')).toBe('not_valid_yet');
  expect(at('2026-11-30T23:00:00Z')).toBeUndefined();
  expect(at('2026-12-23T23:59:59.999Z')).toBeUndefined();
  expect(at('2026-12-24T00:00:00Z')).toBe('no_longer_valid');
  expect(active({ validFrom: null, validTo: null, schedule: null })).toBeUndefined();
});

test.each([
  [{ validFrom: '2026-12-01' }, '/validFrom rule.validFrom.malformed'],
  [{ validFrom: '2026-02-30T00:00:00Z' }, '/validFrom rule.validFrom.malformed'],
  [{ validFrom: 7 }, '/validFrom rule.validFrom.wrong_type'],
  [{ validFrom: '2026-12-01T00:00:00Z', validTo: '2026-12-01T01:00:00+01:00' }, '/validTo rule.validTo.out_of_range'],
  [{ schedule: {} }, '/schedule/weekly rule.schedule.weekly.missing'],
  [{ schedule: { weekly: [] } }, '/schedule/weekly rule.schedule.weekly.wrong_length'],
  [
    { schedule: { timeZone: 'Mars/Phobos', weekly: [{ days: ['mon'], from: '01:00', to: '02:00' }] } },
    '/schedule/timeZone rule.schedule.timeZone.malformed',
  ],
  [
    { schedule: { weekly: [{ days: ['monday'], from: '01:00', to: '02:00' }] } },
    '/schedule/weekly/0/days/0 rule.schedule.weekly.days.not_one_of',
  ],
  [
    { schedule: { weekly: [{ days: ['mon'], from: '24:00', to: '02:00' }] } },
    '/schedule/weekly/0/from rule.schedule.weekly.from.malformed',
  ],
  [
    { schedule: { weekly: [{ days: ['mon'], from: '01:00', to: '01:00' }] } },
    '/schedule/weekly/0/to rule.schedule.weekly.to.not_applicable',
  ],
  [{ schedule: { weekly: [{ days: ['mon'], from: '1:00', to: '02:00' }] } }, '/schedule/weekly/0/from rule.schedule.weekly.from.malformed'],
])('%j: %s', (rule, fault) => expect(faultsOf(rule)).toEqual([fault]));

import * as fc from 'fast-check';
import { CALENDAR_UNITS } from '../limits/limit.js';
import { isTimeZone } from '../fields/time-zone.js';
import { calendarWindows } from './calendar.js';

const ZONES = [
  'Etc/UTC',
  'Europe/Berlin',
  'America/New_York',
  'Asia/Kolkata',
  'Australia/Lord_Howe',
  'Pacific/Apia',
  'Africa/Cairo',
  'America/Sao_Paulo',
  'Asia/Tehran',
];

/** Clocks on Lord Howe Island change by half an hour; Apia left out the 30th of December 2011. */
const CHANGES = ['2026-04-04T15:00Z', '2026-10-03T15:30Z', '2026-03-29T01:00Z', '2026-10-25T01:00Z', '2011-12-30T10:00Z'].map(
  (at) => Date.parse(at) / 1000,
);
const nearChanges = fc.tuple(fc.constantFrom(...CHANGES), fc.integer({ min: -7300, max: 7300 })).map(([at, seconds]) => at + seconds);

test('windows follow one another without a gap, and hold the instant that they are asked for', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...CALENDAR_UNITS),
      fc.constantFrom(...ZONES),
      fc.oneof(fc.integer({ min: 0, max: 4_000_000_000 }), nearChanges),
      (unit, zone, seconds) => {
        const windows = calendarWindows(unit, zone);
        const nowUs = seconds * 1e6;
        const { startUs, endUs } = windows.around(nowUs);
        expect(startUs).toBeLessThanOrEqual(nowUs);
        expect(endUs).toBeGreaterThan(nowUs);
        expect(windows.around(endUs).startUs).toBe(endUs);
        expect(windows.around(startUs - 1).endUs).toBe(startUs);
      },
    ),
    { numRuns: 1000 },
  );
});

test('where clocks change by half an hour, one window of an hour lasts half of that', () => {
  const around = (at: string, zone = 'Australia/Lord_Howe') =>
    Object.values(calendarWindows('hour', zone).around(Date.parse(at) * 1000)).map((us: number) =>
      new Date(us / 1000).toISOString().slice(11, 16),
    );
  // At 02:00 it is 01:30 once more: the second half of that hour comes twice.
  expect(around('2026-04-04T14:59:59.999Z')).toEqual(['14:00', '15:00']);
  expect(around('2026-04-04T15:00Z')).toEqual(['15:00', '15:30']);
  expect(around('2026-04-04T15:30Z')).toEqual(['15:30', '16:30']);
  // At 02:00 it is 02:30 already.
  expect(around('2026-10-03T15:29Z')).toEqual(['14:30', '15:30']);
  expect(around('2026-10-03T15:59Z')).toEqual(['15:30', '16:00']);
  // In Pyongyang it was midnight at 23:30.
  expect(around('2018-05-04T14:59Z', 'Asia/Pyongyang')).toEqual(['14:30', '15:00']);
  expect(around('2018-05-04T15:00Z', 'Asia/Pyongyang')).toEqual(['15:00', '16:00']);
});

test('a window stays the same object, whatever else is asked', () => {
  const windows = calendarWindows('day', 'Europe/Berlin');
  const today = windows.around(1_795_000_000_000_000);
  windows.around(today.startUs - 1);
  windows.around(today.endUs);
  expect(windows.around(today.endUs - 1)).toBe(today);
});

test.each([
  ['Europe/Berlin', true],
  ['UTC', true],
  ['+01:00', false],
  ['Mars/Base', false],
  ['', false],
  [7, false],
])('%j is a time zone: %s', (name, expected) => expect(isTimeZone(name)).toBe(expected));

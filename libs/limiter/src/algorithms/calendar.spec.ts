import * as fc from 'fast-check';
import { CALENDAR_UNITS } from '../limit.js';
import { calendarWindows, isTimeZone } from './calendar.js';

const ZONES = ['Etc/UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Australia/Lord_Howe', 'Pacific/Apia', 'Africa/Cairo', 'America/Sao_Paulo', 'Asia/Tehran'];

test('windows follow one another without a gap, and hold the instant that they are asked for', () => {
  fc.assert(
    fc.property(fc.constantFrom(...CALENDAR_UNITS), fc.constantFrom(...ZONES), fc.integer({ min: 0, max: 4_000_000_000 }), (unit, zone, seconds) => {
      const windows = calendarWindows(unit, zone);
      const nowUs = seconds * 1e6;
      const { startUs, endUs } = windows.around(nowUs);
      expect(startUs).toBeLessThanOrEqual(nowUs);
      expect(endUs).toBeGreaterThan(nowUs);
      // Minutes and hours are cut anew where clocks change by half an hour; days and longer ones never.
      if (unit === 'minute' || unit === 'hour') return;
      expect(windows.around(endUs).startUs).toBe(endUs);
      expect(windows.around(startUs - 1).endUs).toBe(startUs);
    }),
    { numRuns: 300 },
  );
});

test('a window stays the same object, whatever else is asked', () => {
  const windows = calendarWindows('day', 'Europe/Berlin');
  const today = windows.around(1_795_000_000_000_000);
  windows.around(today.startUs - 1);
  windows.around(today.endUs);
  expect(windows.around(today.endUs - 1)).toBe(today);
});

test.each([
  ['Europe/Berlin', true], ['UTC', true], ['+01:00', false], ['Mars/Base', false], ['', false], [7, false],
])('%j is a time zone: %s', (name, expected) => expect(isTimeZone(name)).toBe(expected));

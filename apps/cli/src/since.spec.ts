import { sinceMs } from './since.js';

const NOW = Date.parse('2026-11-22T12:00:00Z');
const HOUR_MS = 3_600_000;

describe('the moment at which a tail begins', () => {
  it.each([
    ['2026-11-22T10:00:00Z', NOW - 2 * HOUR_MS],
    ['2026-11-22T11:00:00+01:00', NOW - 2 * HOUR_MS],
    ['2026-11-22T11:59Z', NOW - 60_000],
    ['2026-11-22T11:59:59.250Z', NOW - 750],
    ['30s', NOW - 30_000],
    ['15m', NOW - 15 * 60_000],
    ['24h', NOW - 24 * HOUR_MS],
    ['0s', NOW],
    // Another machine said it, whose clock is ahead.
    ['2026-11-22T12:00:30Z', NOW + 30_000],
  ])('may be %s', (text, ms) => expect(sinceMs(text, NOW)).toBe(ms));

  it.each([
    '',
    'yesterday',
    '10:00',
    '2026-11-22',
    '2026-11-22T10:00:00',
    '2026-02-30T10:00:00Z',
    '15',
    '15 m',
    '1d',
    '-1h',
    '1.5h',
    '1700000000',
  ])('is not %j, and the message says what to write', (text) =>
    expect(sinceMs(text, NOW)).toMatch(/^--since must be how long ago it begins, like 30s, 15m or 2h, or a time with a zone, .*; got /),
  );

  it.each([
    ['2026-11-22T13:00:00Z', '--since must not lie in the future: it is 2026-11-22T12:00:00.000Z now; got 2026-11-22T13:00:00Z.'],
    ['2026-11-20T12:00:00Z', '--since must lie within the last day, for which decisions are kept; got 2026-11-20T12:00:00Z.'],
    ['25h', '--since must lie within the last day, for which decisions are kept; got 25h.'],
  ])('is not %s', (text, message) => expect(sinceMs(text, NOW)).toBe(message));
});

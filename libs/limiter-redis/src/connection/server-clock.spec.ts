import { jest } from '@jest/globals';
import { ServerClock } from './server-clock.js';

const HOUR_MS = 3_600_000;

afterEach(() => {
  jest.restoreAllMocks();
});

test('is the clock of this machine until the server has answered', () => {
  const clock = new ServerClock(undefined);
  expect(clock.offsetMs).toBe(0);
  expect(Math.abs(clock.nowMs - Date.now())).toBeLessThan(1000);
});

test.each([
  ['an hour back', -HOUR_MS],
  ['an hour forward', HOUR_MS],
])('goes on as before when the clock of this machine is set %s, and says how far it is off', (_, byMs) => {
  const [steady, wall] = [jest.spyOn(performance, 'now').mockReturnValue(500), jest.spyOn(Date, 'now').mockReturnValue(1_000_000)];
  const clock = new ServerClock(undefined);
  // Ten seconds ahead of this machine; asked 20 ms ago.
  clock.heard(1_010_000_000, 480);
  expect(clock.nowMs).toBe(1_010_010);
  steady.mockReturnValue(1500);
  wall.mockReturnValue(1_001_000 + byMs);
  expect([clock.nowMs, clock.offsetMs]).toEqual([1_011_010, 10_010 - byMs]);
});

test('is what replaces it, whatever the server says', () => {
  const clock = new ServerClock(() => 42);
  clock.heard(1_010_000_000, 0);
  expect([clock.nowMs, clock.offsetMs, clock.ofScripts, clock.given]).toEqual([42, 0, 'given', '42000']);
});

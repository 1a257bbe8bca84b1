import { jest } from '@jest/globals';
import { Breaker } from './breaker.js';
import { storeFailure, type StoreFailure } from './redis-error.js';

const READONLY = storeFailure('READONLY', 'READONLY');

type Answer = StoreFailure | undefined | 'none' | { afterMs: number };

let answer: Answer;
let probes: number[];
let changes: string[];
let codes: string[];
let reconnects: number;
let breaker: Breaker;

beforeEach(() => {
  jest.useFakeTimers({ now: 0 });
  answer = READONLY;
  probes = [];
  changes = [];
  codes = [];
  reconnects = 0;
  breaker = new Breaker({
    probe: () => {
      probes.push(Date.now());
      if (answer === 'none') return new Promise(() => {});
      if (answer && 'afterMs' in answer) {
        const { afterMs } = answer;
        return new Promise((resolve) => setTimeout(() => resolve(undefined), afterMs));
      }
      return Promise.resolve(answer);
    },
    deadlineMs: 25,
    time: {
      after(ms, callback) {
        const timer = setTimeout(callback, ms + 1);
        return () => clearTimeout(timer);
      },
    },
    reconnect: () => reconnects++,
    onChange: (closed) => changes.push(`${closed ? 'closed' : 'open'} at ${Date.now()}`),
    onFailure: ({ code }) => codes.push(code),
  });
});

afterEach(() => {
  breaker.close();
  jest.useRealTimers();
});

const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

test('a breaker opens at a failure, says why, and closes only when a probe succeeds', async () => {
  breaker.failed(READONLY);
  expect([breaker.closed, breaker.failure]).toEqual([false, READONLY]);
  await pass(120);
  expect(breaker.closed).toBe(false);
  answer = undefined;
  await pass(50);
  expect([breaker.closed, breaker.failure]).toEqual([true, undefined]);
  expect(changes).toEqual(['open at 0', 'closed at 150']);
  expect(probes).toEqual([50, 100, 150]);
  expect(codes).toEqual(['READONLY', 'READONLY', 'READONLY']);
});

test('the reason of an open breaker is the latest failure', async () => {
  breaker.failed(storeFailure('TIMEOUT', ''));
  await pass(50);
  expect(breaker.failure).toBe(READONLY);
});

test('a breaker that opens again soon waits twice as long each time, up to a second', async () => {
  answer = undefined;
  const pauses: number[] = [];
  for (let i = 0; i < 7; i++) {
    breaker.failed(READONLY);
    const openedAtMs = Date.now();
    while (!breaker.closed) await pass(10);
    pauses.push(Date.now() - openedAtMs);
    await pass(100);
  }
  expect(pauses).toEqual([50, 100, 200, 400, 800, 1000, 1000]);
});

test('a breaker that stayed closed for five seconds begins anew', async () => {
  answer = undefined;
  for (let i = 0; i < 4; i++) {
    breaker.failed(READONLY);
    await pass(1000);
  }
  await pass(5000);
  probes = [];
  breaker.failed(READONLY);
  const openedAtMs = Date.now();
  await pass(1000);
  expect(probes).toEqual([openedAtMs + 50]);
});

test('a late answer does not close a breaker, and shows that the connection lives', async () => {
  answer = { afterMs: 30 };
  breaker.failed(READONLY);
  await pass(2000);
  expect(breaker.closed).toBe(false);
  expect(new Set(codes.slice(1))).toEqual(new Set(['TIMEOUT']));
  expect(reconnects).toBe(0);
  answer = { afterMs: 25 };
  await pass(200);
  expect(breaker.closed).toBe(true);
});

test('two probes in a row without an answer open a new connection', async () => {
  answer = 'none';
  breaker.failed(READONLY);
  await pass(50 + 500 + 50 + 499);
  expect([probes.length, reconnects]).toEqual([2, 0]);
  await pass(10);
  expect(reconnects).toBe(1);
  answer = undefined;
  await pass(100);
  expect(breaker.closed).toBe(true);
});

test('an answer between two missed probes shows that the connection lives', async () => {
  answer = 'none';
  breaker.failed(READONLY);
  await pass(50 + 500 + 40);
  answer = READONLY;
  await pass(20);
  answer = 'none';
  await pass(600);
  expect(probes.length).toBeGreaterThanOrEqual(3);
  expect(reconnects).toBe(0);
});

test('a breaker reports nothing once it is closed for good', async () => {
  breaker.failed(READONLY);
  answer = undefined;
  await pass(49);
  breaker.close();
  await pass(5000);
  breaker.failed(READONLY);
  expect([probes, changes, codes]).toEqual([[], ['open at 0'], ['READONLY']]);
});

test('a fault of the connection is followed by one probe, and opens the breaker only if that fails', async () => {
  answer = undefined;
  breaker.suspect();
  breaker.suspect();
  await pass(2_000);
  expect([probes, changes, breaker.closed]).toEqual([[1_000], [], true]);
  answer = READONLY;
  breaker.suspect();
  await pass(1_000);
  expect([breaker.closed, breaker.failure, codes]).toEqual([false, READONLY, ['READONLY']]);
  answer = undefined;
  await pass(100);
  expect(changes).toEqual(['open at 3000', 'closed at 3050']);
});

test('a call that fails beside a suspicion is followed by one row of probes, one at a time', async () => {
  answer = { afterMs: 300 };
  breaker.suspect();
  await pass(1_100);
  breaker.failed(READONLY);
  await pass(150);
  expect(probes).toEqual([1_000]);
  answer = READONLY;
  await pass(250);
  expect(probes).toEqual([1_000, 1_350, 1_400, 1_450, 1_500]);
});

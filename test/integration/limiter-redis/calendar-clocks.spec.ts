import { editLimits, type LimitSpec } from '#limiter';
import { startedLimit, takeFrom } from '#limiter/testing';
import { createRedis, RedisBucketStore } from '#limiter-redis';
import { jest } from '@jest/globals';
import type { Redis } from 'ioredis';
import { freshRedis, type TestRedis } from '../../support/services.js';

/** Gateways whose clocks are wrong: Redis' clock decides, in calendars too. */

let server: TestRedis;
const connections: Redis[] = [];
const stores: RedisBucketStore[] = [];

beforeAll(async () => void (server = await freshRedis()));
afterAll(async () => {
  jest.restoreAllMocks();
  for (const store of stores) store.close();
  for (const redis of connections) redis.disconnect();
  await server.stop();
});

const HOUR_MS = 3_600_000;
const trueNow = Date.now.bind(Date);

/** A store in a process whose clock is ahead by so much. What it asks has to be awaited before another asks. */
async function storeAhead(byMs: number) {
  const redis = createRedis(server.url, 'limiter') as Redis;
  connections.push(redis);
  await new Promise((resolve) => redis.once('ready', resolve));
  const store = new RedisBucketStore(redis, { deadlineMs: 20_000 });
  stores.push(store);
  return async (...asked: Parameters<typeof takeFrom>[1]) => {
    jest.spyOn(Date, 'now').mockImplementation(() => trueNow() + byMs);
    try {
      return await takeFrom(store, asked);
    } finally {
      jest.restoreAllMocks();
    }
  };
}

const daily = (limit: number): LimitSpec => ({
  name: 'a day',
  algorithm: 'fixed_window',
  limit,
  calendar: 'day',
  timeZone: 'Europe/Berlin',
  start: 'clock',
});
/** By minutes, by days, and beyond all windows that are sent. */
const OFFSETS_MS = [0, 3 * 60_000, -26 * HOUR_MS, 26 * HOUR_MS, 90 * 24 * HOUR_MS, -90 * 24 * HOUR_MS];

test('two requests of a calendar day pass, through gateways whose clocks differ by minutes or months', async () => {
  const limit = startedLimit(daily(2), trueNow() - 1000 * HOUR_MS);
  const gateways = await Promise.all(OFFSETS_MS.map(storeAhead));
  let passed = 0;
  for (let round = 0; round < 4; round++) {
    for (const take of gateways) {
      const [decision] = await take({ key: 'k', limit });
      if (decision!.allowed) passed++;
      else expect(decision!.retryAfterMs).toBeGreaterThan(0);
      for (const ms of [decision!.retryAfterMs, decision!.resetAfterMs]) expect(ms).toBeLessThanOrEqual(25 * HOUR_MS);
      expect(decision!.resetAfterMs).toBeGreaterThanOrEqual(0);
    }
  }
  expect(passed).toBe(2);
});

test('the same holds after an edit, and from one calendar to another', async () => {
  const before = [startedLimit(daily(2), trueNow() - 1000 * HOUR_MS)];
  const edits: LimitSpec[] = [
    daily(3),
    { ...daily(3), timeZone: 'America/New_York' } as LimitSpec,
    { ...daily(3), calendar: 'month' } as LimitSpec,
  ];
  for (const [i, spec] of edits.entries()) {
    const gateways = await Promise.all(OFFSETS_MS.map(storeAhead));
    const [first] = gateways;
    expect((await first!({ key: `e${i}`, limit: before[0]!, cost: 2 }))[0]).toMatchObject({ allowed: true });
    const [after] = editLimits(before, [{ ...spec, onEdit: 'additive' }], trueNow());
    let passed = 0;
    for (const take of gateways) if ((await take({ key: `e${i}`, limit: after! }))[0]!.allowed) passed++;
    expect(passed).toBe(1);
  }
});

test('a gateway knows by how much its clock is off, at any moment', async () => {
  const take = await storeAhead(180_000);
  await take({ key: 'offset', limit: startedLimit(daily(2), 0) });
  expect(Math.abs(stores.at(-1)!.clockOffsetMs)).toBeLessThan(5000);
  // The offset is that from this machine's clock as it is when somebody asks, so it follows a clock that is set meanwhile.
  jest.spyOn(Date, 'now').mockImplementation(() => trueNow() + 180_000);
  expect(stores.at(-1)!.clockOffsetMs).toBeLessThan(-175_000);
  expect(stores.at(-1)!.clockOffsetMs).toBeGreaterThan(-185_000);
  jest.restoreAllMocks();
});

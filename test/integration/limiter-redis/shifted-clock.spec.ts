import { capacityOf, quotaWindowMs, type LimitSpec, type Penalty } from '#limiter';
import { bucketTake, isAllowed, penaltyTake, startedLimit, taken, takeFrom } from '#limiter/testing';
import { createRedis, RedisBucketStore } from '#limiter-redis';
import type { Redis } from 'ioredis';
import { shiftedRedis } from '../../support/shifted-redis.js';

/** What the properties say of a fake clock, once with the true one: Redis' own, shifted under it. */

const server = await shiftedRedis();
const onShiftedRedis = server ? describe : describe.skip;
const shift = (seconds: number): void => server!.shift(seconds);
let redis: Redis;
let store: RedisBucketStore;

beforeAll(async () => {
  if (!server) return;
  redis = createRedis(server.url, 'limiter') as Redis;
  await new Promise((resolve) => redis.once('ready', resolve));
  store = new RedisBucketStore(redis, { deadlineMs: 20_000 });
});
afterAll(async () => {
  store?.close();
  redis?.disconnect();
  await server?.stop();
});
beforeEach(() => server?.shift(0));

const HOUR = 3600;
const YEAR = 365 * 24 * HOUR;
/** Keys live to the end of 64 s, and half a minute more. */
const LONGER_MS = 96_000;

const specs: LimitSpec[] = [
  { name: 'l', algorithm: 'token_bucket', capacity: 100, refillTokens: 50, refillIntervalMs: 1000, refill: 'greedy' },
  { name: 'l', algorithm: 'token_bucket', capacity: 10, refillTokens: 7, refillIntervalMs: 1000, refill: 'greedy' },
  { name: 'l', algorithm: 'token_bucket', capacity: 10, refillTokens: 5, refillIntervalMs: 60_000, refill: 'interval' },
  { name: 'l', algorithm: 'gcra', capacity: 10, refillTokens: 10, refillIntervalMs: 60_000 },
  { name: 'l', algorithm: 'leaky_bucket', capacity: 10, drainTokens: 10, drainIntervalMs: 60_000 },
  { name: 'l', algorithm: 'fixed_window', limit: 10, windowMs: 60_000, start: 'clock' },
  { name: 'l', algorithm: 'fixed_window', limit: 10, windowMs: 60_000, start: 'first_request' },
  { name: 'l', algorithm: 'fixed_window', limit: 10, calendar: 'hour', timeZone: 'Asia/Kolkata', start: 'clock' },
  { name: 'l', algorithm: 'sliding_log', limit: 10, windowMs: 60_000 },
  { name: 'l', algorithm: 'sliding_counter', limit: 10, windowMs: 60_000, parts: 4 },
  { name: 'l', algorithm: 'concurrency', limit: 10, slotTimeoutMs: 60_000 },
];

const timeToFullMs = (spec: LimitSpec): number => (spec.algorithm === 'sliding_counter' ? 1.25 : 1) * quotaWindowMs(spec);

onShiftedRedis.each([
  ['an hour', HOUR],
  ['ten years', 10 * YEAR],
] as const)('after the clock of Redis stepped back by %s', (_name, seconds) => {
  test.each(specs.map((spec) => [JSON.stringify(spec), spec] as const))(
    'a bucket is full after its time to full, and its key lives no longer: %s',
    async (title, spec) => {
      const key = `${seconds}.${title}`;
      const limit = startedLimit(spec, Date.now() - 1000 * HOUR);
      const capacity = capacityOf(spec);
      shift(seconds);
      await taken(store, [bucketTake(key, limit, capacity)], 1);
      shift(0);
      const [refused] = await takeFrom(store, [{ key, limit }]);
      expect(refused).toMatchObject({ allowed: false, remaining: 0 });
      expect(refused!.retryAfterMs).toBeLessThanOrEqual(timeToFullMs(spec) + 1);
      expect(await redis.pttl(`tg:${key}`)).toBeLessThanOrEqual(timeToFullMs(spec) + LONGER_MS);
      shift(Math.ceil(timeToFullMs(spec) / 1000) + 1);
      expect((await takeFrom(store, [{ key, limit, cost: capacity }]))[0]).toMatchObject({ allowed: true });
    },
  );

  test('a block of a penalty lasts as long as configured after a step of the clock, and refusals count as new', async () => {
    const penalty: Penalty = { refusals: 2, windowMs: 10_000, blockMs: 60_000 };
    const one = startedLimit(
      { name: 'l', algorithm: 'token_bucket', capacity: 1, refillTokens: 1, refillIntervalMs: 1000, refill: 'greedy' },
      Date.now() - 1000 * HOUR,
    );
    const asked = () => [bucketTake(`k.${seconds}`, one), penaltyTake(`p.${seconds}`, penalty, 1)];
    shift(seconds);
    for (let i = 0; i < 3; i++) await taken(store, asked());
    shift(0);
    expect(isAllowed(await taken(store, asked()))).toBe(false);
    shift(50);
    expect(isAllowed(await taken(store, asked()))).toBe(false);
    shift(62);
    expect(isAllowed(await taken(store, asked()))).toBe(true);
  });
});

onShiftedRedis('a clock that steps', () => {
  test('a clock that goes forward and back again grants nothing', async () => {
    for (const [i, spec] of specs.entries()) {
      const key = `forth.${i}`;
      const limit = startedLimit(spec, Date.now() - 1000 * HOUR);
      // A second in which a bucket refills must not spoil it.
      if (timeToFullMs(spec) < 60_000) continue;
      await taken(store, [bucketTake(key, limit, capacityOf(spec))], 1);
      shift(30);
      await takeFrom(store, [{ key, limit, cost: 0 }]);
      shift(0);
      expect((await takeFrom(store, [{ key, limit }]))[0]).toMatchObject({ allowed: false, remaining: 0 });
    }
  });
});

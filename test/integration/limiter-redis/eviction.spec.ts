/** A Redis that evicts (volatile-ttl), in a flood of keys that come once each: decision 95. */
import { RedisBucketStore } from '#limiter-redis';
import { startedLimit, takeFrom } from '#limiter/testing';
import { redisForFile } from '../../support/redis-for-file.js';

const { redis } = await redisForFile();
const store = new RedisBucketStore(redis, { deadlineMs: 60_000, maxWaiting: 100_000 });
afterAll(() => store.close());

const DAY_MS = 86_400_000;
const limited = (refillIntervalMs: number, capacity = 2) =>
  startedLimit({ name: 'l', algorithm: 'token_bucket', capacity, refillTokens: 1, refillIntervalMs, refill: 'greedy' }, 0);
/** Is full again after ten minutes, of which the flood takes one. */
const FLOODED = limited(600_000);
const LONG = limited(DAY_MS);
const SHORT = limited(1000);

const KEYS = 40_000;
const ROOM = 3 * 2 ** 20;
const numberOf = async (section: string, name: string): Promise<number> =>
  Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(await redis.info(section))?.[1]);
const allowed = async (key: string, limit: typeof LONG): Promise<boolean> => (await takeFrom(store, [{ key, limit }]))[0]!.allowed;

beforeAll(async () => {
  const most = (await numberOf('memory', 'used_memory')) + ROOM;
  await redis.config('SET', 'maxmemory-policy', 'volatile-ttl');
  await redis.config('SET', 'maxmemory', String(most));
});

test('every take of a flood is carried out within maxmemory, and what is farthest from full stays', async () => {
  const most = Number(((await redis.config('GET', 'maxmemory')) as string[])[1]);
  for (const [key, limit] of [
    ['{long}', LONG],
    ['{short}', SHORT],
  ] as const) {
    for (const expected of [true, true, false]) expect(await allowed(key, limit)).toBe(expected);
  }
  let used = 0;
  for (let first = 0; first < KEYS; first += 1000) {
    const taken = await Promise.all(Array.from({ length: 1000 }, (_, i) => allowed(`{flood-${first + i}}`, FLOODED)));
    expect(taken).not.toContain(false);
    used = Math.max(used, await numberOf('memory', 'used_memory'));
  }
  expect(used).toBeLessThan(1.05 * most);
  expect(await numberOf('stats', 'evicted_keys')).toBeGreaterThan(KEYS / 4);
  expect(store.available).toBe(true);
  // A day from full: it outlives what is ten minutes from full. A second from full: it went first, and gave away what a second would have brought.
  expect(await allowed('{long}', LONG)).toBe(false);
  expect(await redis.exists('{short}')).toBe(0);
});

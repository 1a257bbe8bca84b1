import { bucketKey, editLimits, startLimits, type Limit, type LimitSpec, type MerchantSnapshot, type Rule } from '#limiter';
import { takeFrom } from '#limiter/testing';
import { carryOverBuckets, preloadBuckets, RedisBucketStore } from '#limiter-redis';
import { merchantSnapshot } from '../../support/factories/merchants.js';
import { rule } from '../../support/factories/rules.js';
import { redisForFile } from '../../support/redis-for-file.js';

const { redis } = await redisForFile();

let store: RedisBucketStore;

beforeAll(async () => {
  store = new RedisBucketStore(redis, { deadlineMs: 20_000 });
});
afterAll(async () => {
  store.close();
});
beforeEach(() => redis.flushall());

const DAY_MS = 86_400_000;
const bucket = (refillIntervalMs: number): LimitSpec => ({
  name: 'b',
  algorithm: 'token_bucket',
  capacity: 10,
  refillTokens: 10,
  refillIntervalMs,
  refill: 'greedy',
});
const quota = (calendar: 'day' | 'month'): LimitSpec => ({
  name: 'q',
  algorithm: 'fixed_window',
  limit: 10,
  calendar,
  timeZone: 'Asia/Tokyo',
  start: 'clock',
});

function snapshotOf(limits: readonly Limit[], key: Rule['key'] = ['merchant']): MerchantSnapshot {
  return merchantSnapshot('m', { rules: [rule({ id: '7', key, limits })] });
}
const keysOf = ({ rules: [rule] }: MerchantSnapshot): string[] =>
  rule!.limits.map((limit) => bucketKey(rule!, limit.id, { merchantId: 'm', ip: '192.0.2.1', method: 'GET', target: '/' }));

test('buckets live as long as the new numbers need, and hold what they held', async () => {
  const before = startLimits([bucket(60_000), quota('day')], Date.now() - DAY_MS);
  const keys = keysOf(snapshotOf(before));
  for (const [i, key] of keys.entries()) await takeFrom(store, [{ key, limit: before[i]!, cost: 10 }]);
  const after = snapshotOf(editLimits(before, [bucket(30 * DAY_MS), quota('month')], Date.now()));
  expect(await redis.pttl(`tg:${keys[0]}`)).toBeLessThan(200_000);
  await carryOverBuckets(redis, after);
  expect(await redis.pttl(`tg:${keys[0]}`)).toBeGreaterThan(29 * DAY_MS);
  for (const [i, key] of keys.entries()) {
    const [decision] = await takeFrom(store, [{ key, limit: after.rules[0]!.limits[i]!, cost: 0 }]);
    expect(decision!.remaining).toBeLessThanOrEqual(1);
    expect(await redis.pttl(`tg:${key}`)).toBeGreaterThanOrEqual(decision!.resetAfterMs);
  }
});

test('creates nothing, and leaves preloaded buckets and those of other requests alone', async () => {
  const before = startLimits([bucket(1000)], Date.now() - DAY_MS);
  const limits = editLimits(before, [bucket(2000)], Date.now());
  await carryOverBuckets(redis, snapshotOf(limits));
  expect(await redis.dbsize()).toBe(0);
  await preloadBuckets(redis, [snapshotOf(limits)], 60_000);
  await takeFrom(store, [{ key: keysOf(snapshotOf(before, ['merchant', 'ip']))[0]!, limit: before[0]! }]);
  const contents = async (): Promise<(string | null)[]> => redis.mget((await redis.keys('*')).sort());
  const [seen, mine] = [await contents(), snapshotOf(limits, ['merchant', 'ip'])];
  for (const snapshot of [snapshotOf(limits), mine]) await carryOverBuckets(redis, snapshot);
  expect(await contents()).toEqual(seen);
  expect(seen).toHaveLength(2);
});

test('a preloaded bucket says no more than a missing one, whatever the limit becomes', async () => {
  const before = startLimits([bucket(20_000)], Date.now());
  await preloadBuckets(redis, [snapshotOf(before)], 60_000);
  const [key] = keysOf(snapshotOf(before));
  for (const spec of [bucket(DAY_MS), quota('day'), { name: 'l', algorithm: 'sliding_log', limit: 10, windowMs: DAY_MS }] as LimitSpec[]) {
    const [limit] = editLimits(before, [spec], Date.now() - 1);
    expect((await takeFrom(store, [{ key: key!, limit: limit!, cost: 0 }]))[0]).toMatchObject({ allowed: true, remaining: 10 });
  }
  expect((await takeFrom(store, [{ key: key!, limit: before[0]! }]))[0]).toMatchObject({ allowed: true, remaining: 9 });
});

import { RedisTopKeyStore, topKeysKey, type TopKeyCount, type TopKeyRank } from '#limiter-redis';
import { redisForFile } from '../../support/redis-for-file.js';

const { redis } = await redisForFile();

const HOUR = 3_600_000;

let store: RedisTopKeyStore;

beforeAll(async () => {
  store = new RedisTopKeyStore(redis);
});
beforeEach(() => redis.flushall());

const counted = (user: string, count: number, { rank = 'refused' as TopKeyRank, merchantId = 'acme', ruleId = '7' } = {}): TopKeyCount => ({
  rank,
  merchantId,
  ruleId,
  key: { merchant: merchantId, user },
  count,
});
const nowMs = async () => Number((await redis.time())[0]) * 1000;
/** Of this hour and those beside it, so that none ends between two calls. */
const ranked = async (rank: TopKeyRank = 'refused', merchants: readonly string[] | null = null) =>
  store.ranked(rank, (await nowMs()) - HOUR, (await nowMs()) + 2 * HOUR, merchants);
const names = async (...asked: Parameters<typeof ranked>) =>
  (await ranked(...asked)).keys.map(({ merchantId, key, count }) => `${merchantId} ${key['user']} ${count}`);

test('the counts of gateways are added up by rank and key, and those that came most come first', async () => {
  await store.add([counted('ann', 3), counted('bob', 4), counted('ann', 30, { rank: 'requests' })]);
  await store.add([counted('ann', 2), counted('ann', 9, { merchantId: 'two words' }), counted('ann', 1, { ruleId: '8' })]);
  expect(await names()).toEqual(['two words ann 9', 'acme ann 5', 'acme bob 4', 'acme ann 1']);
  expect(await names('requests')).toEqual(['acme ann 30']);
  expect(await names('refused', ['two words', 'nobody'])).toEqual(['two words ann 9']);
  expect((await ranked()).overestimatedBy).toBe(0);
});

test('a rank has a thousand places; a key that came more often than the rest share is found, and how much is overestimated is said', async () => {
  for (let i = 0; i < 12; i++) {
    await store.add(Array.from({ length: 200 }, (_, n) => counted(`flood ${i * 200 + n}`, 1)));
    await store.add([counted('worst', 50)]);
  }
  const { keys, overestimatedBy } = await ranked();
  expect(keys.length).toBeGreaterThanOrEqual(1000);
  expect(keys.length).toBeLessThanOrEqual(2000);
  expect([keys[0]!.key['user'], keys[0]!.count]).toEqual(['worst', 600]);
  // 2,401 keys of which 999 others have a place; an hour that ends meanwhile makes it less.
  expect(overestimatedBy).toBeLessThanOrEqual(3);
});

test('every key goes by itself, a day and two hours later at most', async () => {
  await store.add([counted('ann', 1), counted('ann', 1, { rank: 'requests' })]);
  const keys = await redis.keys('*');
  expect(keys).toHaveLength(2);
  for (const key of keys) {
    const ttl = await redis.ttl(key);
    expect([key, ttl > 0 && ttl <= 26 * 3600]).toEqual([key, true]);
  }
});

test('what is no key of ours is left out, a key of another type is replaced, and a key that is too long is not told', async () => {
  const hour = Math.floor((await nowMs()) / HOUR);
  for (const at of [hour, hour + 1]) {
    await redis.set(topKeysKey('requests', at), 'a text');
    await redis.zadd(topKeysKey('refused', at), 5, 'x', 6, '["acme","7"]', 7, '["acme","x",{}]', 8, '["","7",{}]', 9, '["a","7",{"ip":1}]');
    await redis.zadd(topKeysKey('refused', at), 'inf', '["acme","7",{"user":"ann"}]', -1, '["acme","7",{"user":"bob"}]');
  }
  expect([await names(), await names('requests')]).toEqual([[], []]);
  await store.add([counted('x'.repeat(3_000), 1), counted('ann', 2, { rank: 'requests' })]);
  expect([await names(), await names('requests')]).toEqual([[], ['acme ann 2']]);
});

import { quotaWindowMs } from '#limiter';
import { bucketTake, startedLimit, taken } from '#limiter/testing';
import {
  createRedis,
  LIMIT_EVENTS_KEY,
  LONGEST_LIFE_MS,
  RedisBucketStore,
  RedisClaimStore,
  RedisLimitEventStore,
  RedisTopKeyStore,
  RedisUsageStore,
  removeOverlongKeys,
  type NewLimitEvent,
} from '#limiter-redis';
import type { Redis } from 'ioredis';
import { shiftedRedis } from '../../support/shifted-redis.js';

/** What is left in Redis when its clock was ten years ahead for a while, and is right again. */

const server = await shiftedRedis();
const onShiftedRedis = server ? describe : describe.skip;
const YEARS = 10 * 365 * 24 * 3600;

const EVENT: NewLimitEvent = {
  kind: 'limit.100',
  merchantId: 'acme',
  ruleId: '17',
  limitId: 0,
  rule: 'payments',
  limit: 'burst',
  capacity: 10,
  remaining: 0,
  ageMs: 0,
};
const USAGE = { merchantId: 'acme', rules: [{ ruleId: '17', passed: 3, refused: 1, shadowRefused: 0, leastPercent: 0 }] };

onShiftedRedis('after the clock of Redis was ten years ahead', () => {
  let redis: Redis;
  let buckets: RedisBucketStore;
  let stepsBack: number;
  let usage: RedisUsageStore;
  let events: RedisLimitEventStore;

  beforeAll(async () => {
    redis = createRedis(server!.url, 'limiter') as Redis;
    await new Promise((resolve) => redis.once('ready', resolve));
    buckets = new RedisBucketStore(redis, { deadlineMs: 20_000 });
    events = new RedisLimitEventStore(redis);
  });
  afterAll(async () => {
    buckets?.close();
    redis?.disconnect();
    await server?.stop();
  });
  beforeEach(async () => {
    server!.shift(YEARS);
    await redis.flushall();
    stepsBack = 0;
    usage = new RedisUsageStore(redis, () => stepsBack++);
  });

  const add = (number: number) => usage.add({ gateway: 'g', number, merchants: [USAGE] }, 0);

  test('an event is told again at once, and once', async () => {
    await events.want(['limit.100']);
    expect(await events.add([EVENT])).toMatchObject({ noted: 1 });
    server!.shift(0);
    expect(await events.add([EVENT])).toMatchObject({ noted: 1 });
    expect(await events.add([EVENT])).toMatchObject({ noted: 0, beyondShare: 0 });
    expect(await redis.xlen(LIMIT_EVENTS_KEY)).toBe(2);
  });

  test('usage, ranks, claims and marks of then are removed, and nothing of now, nor a bucket or what is not ours', async () => {
    const spec = {
      name: 'l',
      algorithm: 'token_bucket',
      capacity: 10,
      refillTokens: 1,
      refillIntervalMs: 86_400_000,
      refill: 'greedy',
    } as const;
    await add(1);
    await new RedisTopKeyStore(redis).add([]);
    await redis.set('tg:{acme}:acme:0123456789abcdef', '1:0', 'EX', 3600);
    await new RedisClaimStore(redis, { nowMs: () => 0 }).keep([], 60_000);
    await taken(buckets, [bucketTake('{acme}17.0:{x}:=1', startedLimit(spec, 0))]);
    await redis.set('somebody:{else}:u', '1', 'EX', 3600);
    const ofThen = await redis.keys('*');
    server!.shift(0);
    await add(10);
    const kept = (await redis.keys('*')).filter((key) => !ofThen.includes(key));
    expect(kept).toHaveLength(2);
    const removed = await removeOverlongKeys(redis);
    const left = await redis.keys('*');
    expect(left.sort()).toEqual([...kept, 'somebody:{else}:u', 'tg:u:seen:g', 'tg:{acme}17.0:{x}:=1'].sort());
    expect(removed).toBe(ofThen.length - 3);
    for (const key of kept) expect(await redis.pttl(key)).toBeLessThan(LONGEST_LIFE_MS);
    expect(quotaWindowMs(spec)).toBeGreaterThan(LONGEST_LIFE_MS);
  });

  test('the step is noticed by the next counts, once, and a step by less than any key lives is not one', async () => {
    await add(1);
    server!.shift(YEARS - 7 * 24 * 3600);
    await add(10);
    expect(stepsBack).toBe(0);
    server!.shift(0);
    await add(20);
    await add(30);
    expect(stepsBack).toBe(1);
  });
});

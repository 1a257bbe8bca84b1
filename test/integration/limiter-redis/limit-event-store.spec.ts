import {
  LIMIT_EVENTS_KEY,
  LIMIT_EVENTS_WANTED_KEY,
  limitEventShareKey,
  limitEventToldKey,
  RedisLimitEventStore,
  type NewLimitEvent,
} from '#limiter-redis';
import { redisForFile } from '../../support/redis-for-file.js';

const { redis } = await redisForFile();

const BOUNDS = { waiting: 60, perMerchant: 50, intervalMs: 3_600_000 };

let store: RedisLimitEventStore;
let unreadable: string[];

beforeAll(async () => {
  store = new RedisLimitEventStore(redis, ({ reason }) => unreadable.push(reason), BOUNDS);
});
beforeEach(async () => {
  unreadable = [];
  await redis.flushall();
  await store.want(['limit.80', 'limit.100']);
});

const event = (changes: Partial<NewLimitEvent> = {}): NewLimitEvent => ({
  kind: 'limit.100',
  merchantId: 'acme',
  ruleId: '17',
  limitId: 0,
  rule: 'payments',
  limit: 'burst',
  capacity: 10,
  remaining: 0,
  ageMs: 0,
  ...changes,
});
const many = (count: number, changes: Partial<NewLimitEvent> = {}) =>
  Array.from({ length: count }, (_, i) => event({ ruleId: String(i + 1), ...changes }));
const waiting = async () => (await store.oldest(1_000)).map(({ event: each }) => each && `${each.kind} ${each.merchantId} ${each.ruleId}`);

test('a limit is noted once in an hour, of each kind, however many gateways see it', async () => {
  const [seconds] = await redis.time();
  expect(await store.add([event({ ageMs: 5_000 }), event(), event({ kind: 'limit.80' })])).toEqual({ noted: 2, beyondShare: 0, noRoom: 0 });
  expect(await store.add([event(), event({ limitId: 1, limit: 'a day' })])).toMatchObject({ noted: 1 });
  const [first] = await store.oldest(1);
  const { limitId: _id, ageMs: _age, ...use } = event();
  expect(first!.event).toMatchObject(use);
  expect(first!.event!.atMs / 1000 - Number(seconds)).toBeCloseTo(-5, -1);
  expect(await redis.pttl(limitEventToldKey('acme', '17', 0, 'limit.100'))).toBeGreaterThan(BOUNDS.intervalMs - 60_000);
  await redis.del(limitEventToldKey('acme', '17', 0, 'limit.100'));
  expect(await store.add([event()])).toMatchObject({ noted: 1 });
});

test('what was fetched waits until it is removed', async () => {
  await store.add(many(3));
  const [first] = await store.oldest(2);
  expect(await waiting()).toHaveLength(3);
  await store.remove([first!.id]);
  await store.remove([]);
  expect(await waiting()).toEqual(['limit.100 acme 2', 'limit.100 acme 3']);
});

test('events that nobody wants are not written', async () => {
  await store.want(['limit.80']);
  expect(await store.add([event(), event({ kind: 'limit.80' })])).toMatchObject({ noted: 1 });
  await redis.flushall();
  await store.want([]);
  expect(await store.add(many(120))).toEqual({ noted: 0, beyondShare: 0, noRoom: 0 });
  expect(await redis.keys('*')).toEqual([]);
});

test('a merchant has a share, and what waits a bound; what was not noted can be noted later', async () => {
  expect(await store.add(many(55))).toEqual({ noted: 50, beyondShare: 5, noRoom: 0 });
  expect(await store.add(many(12, { merchantId: 'other' }))).toEqual({ noted: 10, beyondShare: 0, noRoom: 2 });
  expect(await redis.pttl(limitEventShareKey('acme'))).toBeGreaterThan(0);
  await store.remove((await store.oldest(100)).map(({ id }) => id));
  expect(await store.add(many(12, { merchantId: 'other' }))).toMatchObject({ noted: 2 });
});

test('keys of another type are replaced, and an entry that is no event is reported and skipped', async () => {
  await redis.set(LIMIT_EVENTS_KEY, 'x');
  await redis.del(LIMIT_EVENTS_WANTED_KEY);
  await redis.hset(LIMIT_EVENTS_WANTED_KEY, 'a', 'b');
  await redis.hset(limitEventShareKey('acme'), 'a', 'b');
  expect(await waiting()).toEqual([]);
  await store.add([event()]);
  await store.want(['limit.100']);
  await redis.set(LIMIT_EVENTS_KEY, 'x');
  expect(await store.add([event()])).toMatchObject({ noted: 1 });
  await redis.set(limitEventShareKey('acme'), '1.5');
  expect(await store.add([event({ ruleId: '18' })])).toMatchObject({ noted: 1 });
  await redis.xadd(LIMIT_EVENTS_KEY, '*', 'k', 'nonsense');
  expect(await waiting()).toEqual(['limit.100 acme 17', 'limit.100 acme 18', undefined]);
  expect(unreadable).toEqual(['malformed']);
});

import { LIMIT_EVENT_KINDS, LIMIT_EVENTS_KEY, RedisLimitEventStore, type NewLimitEvent } from '#limiter-redis';
import { wantedEvents, WEBHOOK_EVENTS } from '#rules-db';
import type { DataSource } from 'typeorm';
import { carryLimitEvents, limitEvents } from '../../../apps/preloader/src/limit-events/limit-events.js';
import { redisForFile } from '../../support/redis-for-file.js';
import { until } from '../../support/until.js';
import { migratedDatabase } from '../rules-db/database.js';

const { redis } = await redisForFile();

let dataSource: DataSource;
let close: () => Promise<void>;
let store: RedisLimitEventStore;

beforeAll(async () => {
  ({ dataSource, close } = await migratedDatabase());
  store = new RedisLimitEventStore(redis);
});
afterAll(async () => {
  await close();
});
beforeEach(async () => {
  await redis.flushall();
  await dataSource.query('TRUNCATE webhook, webhook_event, webhook_delivery');
});

const EVENT: NewLimitEvent = {
  kind: 'limit.80',
  merchantId: 'acme',
  ruleId: '17',
  limitId: 0,
  rule: 'payments',
  limit: 'burst',
  capacity: 10,
  remaining: 2,
  ageMs: 0,
};
const webhookFor = (events: readonly string[], enabled = true) =>
  dataSource.query(`INSERT INTO webhook (url, events, enabled, secret, version) VALUES ('https://example.com/', $1, $2, '', 1)`, [
    JSON.stringify(events),
    enabled,
  ]);
const told = async () =>
  ((await dataSource.query('SELECT body FROM webhook_event ORDER BY id')) as { body: string }[]).map(
    ({ body }) => JSON.parse(body) as { type: string; data: Record<string, unknown> },
  );

test('a spike of refusals is told with its key, to those who want to know', async () => {
  await webhookFor(['key.refused']);
  await store.want(await wantedEvents(dataSource, LIMIT_EVENT_KINDS));
  const key = { merchant: 'acme', user: 'hmac:abc' };
  await store.add([EVENT, { ...EVENT, kind: 'key.refused', remaining: 0, key, refused: 130 }]);
  expect(await carryLimitEvents(store, dataSource)).toBe(1);
  expect(await told()).toMatchObject([
    { type: 'key.refused', data: { merchantId: 'acme', ruleId: '17', limit: 'burst', key, refused: 130 } },
  ]);
});

test('an event is told once, also if a preloader ends between PostgreSQL and Redis, or several carry it at once', async () => {
  await webhookFor(['limit.80', 'limit.100']);
  await store.want(['limit.80', 'limit.100']);
  await store.add([EVENT, { ...EVENT, kind: 'limit.100', remaining: 0 }]);
  const entries = (await redis.dumpBuffer(LIMIT_EVENTS_KEY))!;
  await Promise.all([carryLimitEvents(store, dataSource), carryLimitEvents(store, dataSource)]);
  expect(await redis.xlen(LIMIT_EVENTS_KEY)).toBe(0);
  await redis.restore(LIMIT_EVENTS_KEY, 0, entries, 'REPLACE');
  expect(await carryLimitEvents(store, dataSource)).toBe(2);
  const use = { merchantId: 'acme', ruleId: '17', rule: 'payments', limit: 'burst', capacity: 10 };
  const at = expect.stringMatching(/^20.*Z$/) as unknown;
  expect(await told()).toEqual([
    { type: 'limit.80', timestamp: at, data: { at, ...use, remaining: 2, usedPercent: 80 } },
    { type: 'limit.100', timestamp: at, data: { at, ...use, remaining: 0, usedPercent: 100 } },
  ]);
});

test('nothing is written that no webhook wants any more, and what cannot be read is in nobody’s way', async () => {
  await webhookFor(['limit.100']);
  await store.want(['limit.80', 'limit.100']);
  await redis.xadd(LIMIT_EVENTS_KEY, '*', 'k', 'nonsense');
  await store.add([EVENT, { ...EVENT, kind: 'limit.100' }]);
  expect(await carryLimitEvents(store, dataSource)).toBe(3);
  expect((await told()).map(({ type }) => type)).toEqual(['limit.100']);
  expect(await redis.xlen(LIMIT_EVENTS_KEY)).toBe(0);
});

test('what is wanted is what enabled webhooks want', async () => {
  expect(await wantedEvents(dataSource, WEBHOOK_EVENTS)).toEqual([]);
  await webhookFor(['limit.80'], false);
  await webhookFor(['limit.100', 'rule.changed']);
  expect(await wantedEvents(dataSource, ['limit.80', 'limit.100'])).toEqual(['limit.100']);
});

test('gateways learn by way of Redis that something is wanted, and no longer is', async () => {
  const clock = { nowMs: 0 };
  const options = { dataSource, redis, logger: { warn: () => {} } as never, onUnreadable: () => {}, now: () => clock.nowMs };
  await webhookFor(['limit.80']);
  const first = limitEvents(options);
  first.start();
  await until('the event is noted', async () => (await store.add([EVENT])).noted === 1);
  await until('it is told', async () => (await told()).length === 1);
  await first.stop();
  await dataSource.query('DELETE FROM webhook');
  const next = limitEvents(options);
  next.start();
  await until('nothing is wanted', async () => (await redis.exists('tg:e:wanted')) === 0);
  await next.stop();
});

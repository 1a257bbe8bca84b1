import { Redis } from 'ioredis';
import type { MerchantSnapshot } from '#limiter';
import { burst } from '#limiter/testing';
import { RedisSnapshotStore } from '#limiter-redis';
import { Forwarder } from '../../support/forwarder.mjs';
import type { RunningApp } from '../../support/processes.js';
import { freshRedis, type TestRedis } from '../../support/services.js';
import { until } from '../../support/until.js';
import { ruleSpec } from '../../support/factories/rules.js';
import { House } from './house.js';

/** A Redis that answers and carries out no takes is named, and left when there is a better one. */

let house: House;
let successor: TestRedis;
let forwarder: Forwarder;
let gateway: RunningApp;
let snapshots: MerchantSnapshot[];

beforeEach(async () => {
  [house, successor] = await Promise.all([House.open(), freshRedis()]);
  forwarder = await Forwarder.to(house.redisServer.port);
  gateway = await house.gateway({ REDIS_URL: forwarder.url, STORE_TIMEOUT_MS: '5000' });
  const few = { match: { methods: [], paths: [] }, limits: [burst({ capacity: 3, refillTokens: 1, refillIntervalMs: 3_600_000 })] };
  // In PostgreSQL too: a Redis that becomes a replica has nothing for a while.
  await house.store({ acme: [ruleSpec({ ...few, onStoreFailure: 'closed' })], other: [ruleSpec({ ...few, onStoreFailure: 'open' })] });
  snapshots = (await Promise.all(['acme', 'other'].map((id) => house.snapshots.read(id)))).filter((snapshot) => snapshot !== null);
  await until(async () => expect((await house.send(gateway, 'acme')).status).toBe(200));
  await until(async () => expect((await house.send(gateway, 'other')).status).toBe(200));
});

afterEach(async () => {
  forwarder.close();
  await house.close();
  await successor.stop();
});

const storeLines = (): string[] => gateway.logs.map(({ msg }) => msg ?? '').filter((msg) => /^Redis carries/.test(msg));
const store = async (): Promise<unknown> => {
  const response = await fetch(`${gateway.managementUrl}/readyz`);
  const { checks } = (await response.json()) as { checks: { name: string }[] };
  return { status: response.status, ...checks.find(({ name }) => name === 'store') };
};

test('after a failover in which the address moves and the connection stays, takes reach the new primary', async () => {
  const fresh = new Redis(successor.url);
  // The gateway reads its rules again, because the change counters are others there.
  await new RedisSnapshotStore(fresh).write(snapshots, 3_600_000);
  await house.redis.call('REPLICAOF', '127.0.0.1', String(successor.port));
  forwarder.moveTo(successor.port);
  // The first may meet the replica; from the new primary the bucket is full.
  await until(async () => expect((await house.send(gateway, 'acme')).status).toBe(200));
  try {
    expect((await fresh.keys('tg:{acme}*')).length).toBeGreaterThan(0);
  } finally {
    fresh.disconnect();
  }
  await until(async () => expect((await house.send(gateway, 'acme')).status).toBe(429));
  await gateway.waitForLog(({ msg }) => msg === 'Redis carries out takes again: limits are exact');
  expect(storeLines()).toHaveLength(2);
  expect(await house.metric(gateway, /^tollgate_store_failures_total\{.*code="READONLY"/)).toBeGreaterThan(0);
  expect(await house.metric(gateway, /^tollgate_store_available/)).toBe(1);
});

test('a full Redis is named once in the log, in a metric and in /readyz; what it knows to be exhausted stays refused', async () => {
  for (let i = 0; i < 3; i++) await house.send(gateway, 'other');
  expect(await store()).toMatchObject({ status: 200, ok: true });
  await house.redis.config('SET', 'maxmemory', '1');
  const statuses = new Set<string>();
  for (let i = 0; i < 100; i++) {
    for (const merchant of ['acme', 'other']) statuses.add(`${merchant} ${(await house.send(gateway, merchant)).status}`);
  }
  // acme has tokens left, which cannot be taken: its rule says closed. The other's rule says open, but has none left.
  expect([...statuses].sort()).toEqual(['acme 503', 'other 429']);
  expect(storeLines()).toEqual([expect.stringContaining('maxmemory')]);
  expect(gateway.logs.find(({ code }) => code === 'OOM')).toMatchObject({
    level: 'warn',
    said: expect.stringContaining('OOM command not allowed'),
  });
  expect(await house.metric(gateway, /^tollgate_store_failures_total\{.*code="OOM"/)).toBeGreaterThanOrEqual(100);
  expect(await store()).toMatchObject({ status: 200, ok: false, required: false, detail: expect.stringContaining('OOM') });

  await house.redis.config('SET', 'maxmemory', '0');
  await until(async () => expect((await house.send(gateway, 'acme')).status).toBe(200));
  await until(async () => expect(await store()).toMatchObject({ status: 200, ok: true }));
});

import { Enforcer } from '#enforcement';
import type { Rule } from '#limiter';
import { Redis } from 'ioredis';
import { Registry } from 'prom-client';
import { rule } from '../../support/factories/rules.js';
import { freshRedis, type TestRedis } from '../../support/services.js';
import { until } from '../../support/until.js';

/** A process that holds tokens of a lease while Redis carries out no takes: it spends these and no others, and goes on when Redis is well. */

const CAPACITY = 2000;
const HOUR_MS = 3_600_000;

let server: TestRedis;
let admin: Redis;
let enforcer: Enforcer;
let registry: Registry;

beforeEach(async () => {
  server = await freshRedis();
  admin = new Redis(server.url, { connectionName: 'admin' }).on('error', () => {});
  registry = new Registry();
  enforcer = new Enforcer({
    redisUrl: server.url,
    storedRules: false,
    logger: { info: () => {}, warn: () => {} },
    registry,
    storeTimeoutMs: 1000,
    leaseHorizonMs: 10_000,
  });
  const hot = rule({
    id: '1',
    consistency: 'leased',
    onStoreFailure: 'leased',
    capacity: CAPACITY,
    refillTokens: 1,
    refillIntervalMs: HOUR_MS,
  });
  enforcer.rulesHere([hot as Rule]);
  await enforcer.open();
});

afterEach(async () => {
  await enforcer.close();
  admin.disconnect();
  await server.stop();
});

const check = () =>
  new Promise<{ allowed: boolean; source?: string }>((resolve) =>
    enforcer.check({ merchantId: 'acme', ip: '192.0.2.7', method: 'GET', target: '/' }, resolve),
  );

const held = async (): Promise<number> => Number(/^tollgate_lease_held_tokens (\d+)/m.exec(await registry.metrics())?.[1]);

/** Asks until one is refused. @returns those that passed, by who decided */
async function drain(): Promise<Record<string, number>> {
  const passed: Record<string, number> = {};
  for (;;) {
    const { allowed, source = 'none' } = await check();
    if (!allowed) return passed;
    passed[source] = (passed[source] ?? 0) + 1;
  }
}

const total = (passed: Record<string, number>): number => Object.values(passed).reduce((sum, each) => sum + each, 0);

/** @returns requests that passed until tokens were held */
async function untilHeld(): Promise<number> {
  let passed = 0;
  await until('tokens are held', async () => {
    for (let i = 0; i < 10; i++) if ((await check()).allowed) passed++;
    return (await held()) > 5;
  });
  return passed;
}

test.each([
  ['full', () => admin.config('SET', 'maxmemory', '1'), () => admin.config('SET', 'maxmemory', '0')],
  ['a replica', () => admin.call('REPLICAOF', '127.0.0.1', '1'), () => admin.call('REPLICAOF', 'NO', 'ONE')],
] as const)(
  'while Redis is %s what is held is passed, and nothing else; once it is well no more than the limit has passed',
  async (_what, fall, rise) => {
    const before = await untilHeld();
    await fall();
    const heldThen = await held();
    const meanwhile = await drain();
    expect(meanwhile).toEqual({ lease: heldThen });
    expect(heldThen).toBeGreaterThan(0);
    expect((await check()).allowed).toBe(false);
    await rise();
    let first = 0;
    await until('requests pass again', async () => {
      first += Number((await check()).allowed);
      return first > 0;
    });
    const all = before + heldThen + first + total(await drain());
    // What Redis had lent when it fell ill, and nobody has heard of, ends as spent.
    expect(all).toBeLessThanOrEqual(CAPACITY);
    expect(all).toBeGreaterThan(CAPACITY / 2);
  },
);

test('a Redis that is killed and comes back without its data lets pass one limit more, and what was held', async () => {
  const before = await untilHeld();
  await server.kill();
  const heldThen = await held();
  expect(await drain()).toEqual({ lease: heldThen });
  await server.restart();
  let first = 0;
  await until('requests pass again', async () => {
    first += Number((await check()).allowed);
    return first > 0;
  });
  const after = first + total(await drain());
  expect(after).toBeLessThanOrEqual(CAPACITY);
  expect(before + heldThen + after).toBeGreaterThan(CAPACITY);
});

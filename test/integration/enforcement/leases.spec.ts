import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { Enforcer } from '#enforcement';
import type { Consistency, Rule } from '#limiter';
import { Registry } from 'prom-client';
import { rule } from '../../support/factories/rules.js';
import { redisForFile } from '../../support/redis-for-file.js';
import { until } from '../../support/until.js';

/** Four enforcers, each with its own connection, on one Redis. */

const { server, redis } = await redisForFile();
const opened: Enforcer[] = [];
let ruleIds = 1000;

afterAll(async () => {
  await Promise.all(opened.map((enforcer) => enforcer.close()));
});

const HOUR_MS = 3_600_000;

const hotRule = (consistency: Consistency, capacity: number, refillTokens: number, refillIntervalMs = 1000): Rule => {
  const id = String(++ruleIds);
  return rule({ id, name: `rule ${id}`, consistency, onStoreFailure: 'leased', capacity, refillTokens, refillIntervalMs });
};

async function enforcerOf(hot: Rule, leaseHorizonMs = 1000) {
  const registry = new Registry();
  const enforcer = new Enforcer({
    redisUrl: server.url,
    storedRules: false,
    logger: { info: () => {}, warn: () => {} },
    registry,
    storeTimeoutMs: 2000,
    leaseHorizonMs,
  });
  enforcer.rulesHere([hot]);
  await enforcer.open();
  opened.push(enforcer);
  const check = () =>
    new Promise<{ allowed: boolean; source?: string }>((resolve) =>
      enforcer.check({ merchantId: 'acme', ip: '192.0.2.7', method: 'GET', target: '/' }, resolve),
    );
  const metric = async (name: string) =>
    (await registry.metrics())
      .split('\n')
      .filter((line) => line.startsWith(name) && !/^\w/.test(line.slice(name.length)))
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
  return { enforcer, check, metric };
}
type Opened = Awaited<ReturnType<typeof enforcerOf>>;

/** Sends batches from all of them until so much time is over. Milliseconds. */
async function load(enforcers: readonly Opened[], forMs: number, batch: number) {
  const startMs = performance.now();
  let [passed, sent] = [0, 0];
  while (performance.now() - startMs < forMs) {
    const answers = await Promise.all(enforcers.flatMap(({ check }) => Array.from({ length: batch }, check)));
    sent += answers.length;
    passed += answers.filter(({ allowed }) => allowed).length;
    await new Promise((resolve) => setImmediate(resolve));
  }
  return { passed, sent, seconds: (performance.now() - startMs) / 1000 };
}

/** Sends until it holds some tokens. @returns requests that passed */
async function untilHeld({ check, metric }: Opened): Promise<number> {
  let passed = 0;
  await until(async () => {
    for (let i = 0; i < 10; i++) if ((await check()).allowed) passed++;
    return (await metric('tollgate_lease_held_tokens')) > 0;
  });
  return passed;
}

const callsOfRedis = async (): Promise<number> => {
  const stats = await redis.info('commandstats');
  return [...stats.matchAll(/cmdstat_evalsha:calls=(\d+)/g)].reduce((sum, [, calls]) => sum + Number(calls), 0);
};

const four = (hot: Rule, horizonMs?: number) => Promise.all(Array.from({ length: 4 }, () => enforcerOf(hot, horizonMs)));

test('four gateways pass no more than the limit of a merchant that asks for far more', async () => {
  const [capacity, perSecond] = [2000, 2000];
  const enforcers = await four(hotRule('leased', capacity, perSecond));
  const { passed, sent, seconds } = await load(enforcers, 1200, 20);
  expect(sent).toBeGreaterThan(passed);
  expect(passed).toBeLessThanOrEqual(capacity + perSecond * seconds);
  expect(passed).toBeGreaterThan(0.9 * (capacity + perSecond * seconds) - capacity / 2);
  const spent = await Promise.all(enforcers.map(({ metric }) => metric('tollgate_lease_spent_tokens_total')));
  expect(spent.reduce((sum, each) => sum + each, 0)).toBeGreaterThan(0);
});

test('of a hot merchant within its limit Redis is asked about fewer than one request in a hundred', async () => {
  const enforcers = await four(hotRule('leased', 1_000_000, 1_000_000));
  await load(enforcers, 1000, 50);
  const before = await callsOfRedis();
  const takesBefore = await Promise.all(enforcers.map(({ metric }) => metric('tollgate_decisions_total{reason="allowed",source="store"}')));
  const { passed, sent } = await load(enforcers, 800, 50);
  const takes = await Promise.all(enforcers.map(({ metric }) => metric('tollgate_decisions_total{reason="allowed",source="store"}')));
  expect(passed).toBe(sent);
  expect((await callsOfRedis()) - before).toBeLessThan(sent / 100);
  expect(takes.reduce((sum, each, i) => sum + each - takesBefore[i]!, 0)).toBeLessThan(sent / 100);
});

test('a gateway that is killed loses what it holds to nobody, and no more than that', async () => {
  const hot = hotRule('leased', 1000, 1, HOUR_MS);
  const script = join(import.meta.dirname, '../../support/leasing-process.mjs');
  const child = spawn(process.execPath, [script, JSON.stringify({ redisUrl: server.url, rule: hot, requests: 200 })], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  const { passed, held } = JSON.parse(line) as { passed: number; held: number };
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect([passed, held > 0]).toEqual([200, true]);
  const survivor = await enforcerOf(hot);
  let others = 0;
  while ((await survivor.check()).allowed) others++;
  expect(others).toBe(1000 - passed - held);
  expect(await survivor.metric('tollgate_lease_granted_tokens_total')).toBeGreaterThan(0);
});

test('a gateway that ends gives everything back', async () => {
  const hot = hotRule('leased', 1000, 1, HOUR_MS);
  const [first, second] = [await enforcerOf(hot), await enforcerOf(hot)];
  const passed = await untilHeld(first);
  await first.enforcer.close();
  let others = 0;
  while ((await second.check()).allowed) others++;
  expect(others).toBe(1000 - passed);
});

test('an edit ends what was lent before it', async () => {
  const hot = hotRule('leased', 1000, 1000);
  const { enforcer, check, metric } = await enforcerOf(hot);
  await untilHeld({ enforcer, check, metric });
  const [limit] = hot.limits;
  const edited = {
    ...limit!,
    capacity: 10,
    refillTokens: 1,
    refillIntervalMs: HOUR_MS,
    generation: 1,
    since: { atMs: Date.now(), tokens: 10 },
    previous: [],
  } as Rule['limits'][number];
  enforcer.rulesHere([{ ...hot, limits: [edited] }]);
  const answers = [];
  for (let i = 0; i < 100; i++) answers.push(await check());
  expect(answers.filter(({ allowed }) => allowed).length).toBeLessThanOrEqual(10);
  expect(await metric('tollgate_lease_lapsed_tokens_total')).toBeGreaterThan(0);
});

test('while Redis is frozen gateways pass what they hold, and refuse the rest', async () => {
  const enforcers = await four(hotRule('leased', 1_000_000, 1, 60_000), 10_000);
  const sumOf = async (name: string) =>
    (await Promise.all(enforcers.map(({ metric }) => metric(name)))).reduce((sum, value) => sum + value, 0);
  await until(async () => {
    await load(enforcers, 100, 20);
    return (await sumOf('tollgate_lease_held_tokens')) > 0;
  });
  server.freeze();
  try {
    const held = await sumOf('tollgate_lease_held_tokens');
    const granted = await sumOf('tollgate_lease_granted_tokens_total');
    const sources = new Set<string | undefined>();
    let passed = 0;
    for (const { check } of enforcers) {
      for (;;) {
        const answers = await Promise.all(Array.from({ length: 50 }, check));
        for (const { source } of answers.filter(({ allowed }) => allowed)) sources.add(source);
        passed += answers.filter(({ allowed }) => allowed).length;
        // Tokens may arrive while the first batch waits for Redis.
        if (answers.every(({ allowed }) => !allowed)) break;
      }
    }
    // What Redis had granted before it was frozen may have arrived since.
    const arrived = (await sumOf('tollgate_lease_granted_tokens_total')) - granted;
    expect(passed).toBeLessThanOrEqual(held + arrived);
    expect(passed).toBeGreaterThan(0);
    expect([...sources]).toEqual(['lease']);
    const after = await Promise.all(enforcers.map(({ check }) => check()));
    expect(after.map(({ allowed }) => allowed)).toEqual([false, false, false, false]);
  } finally {
    server.thaw();
  }
});

test('optimistic gateways pass no more than the limit and what all pass before they hear of each other, and no request waits for Redis', async () => {
  const [capacity, perSecond] = [500, 1000];
  const enforcers = await four(hotRule('optimistic', capacity, perSecond));
  const { passed, sent, seconds } = await load(enforcers, 1200, 5);
  const bound = capacity + perSecond * seconds;
  const owed = (await Promise.all(enforcers.map(({ metric }) => metric('tollgate_optimistic_owed_tokens')))).reduce((a, b) => a + b, 0);
  expect(passed).toBeLessThanOrEqual(bound + 4 * (capacity + perSecond * 0.5));
  expect(passed).toBeLessThanOrEqual(bound + owed + 1);
  expect(passed).toBeGreaterThan(0.8 * Math.min(bound, sent));
  const stored = await Promise.all(enforcers.map(({ metric }) => metric('tollgate_decisions_total{reason="allowed",source="store"}')));
  expect(stored.reduce((a, b) => a + b, 0)).toBe(0);
});

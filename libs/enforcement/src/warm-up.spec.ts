import { EventEmitter } from 'node:events';
import type { CheckOutcome, Descriptor, MerchantRules } from '#limiter';
import type { Redis } from 'ioredis';
import { NOBODIES } from './rehearsal.js';
import { warmUp } from './warm-up.js';

/** What a warm-up uses of a connection. */
class FakeRedis extends EventEmitter {
  readonly loaded: string[] = [];
  status: 'ready' | 'connecting' = 'ready';
  busy: string | null = null;
  answers = true;

  getrange(key: string): Promise<string> {
    return this.answer((key === 'tg:busy' ? this.busy : null) ?? '');
  }

  script(_load: 'LOAD', source: string): Promise<string> {
    this.loaded.push(source);
    return this.answer('');
  }

  private answer<T>(value: T): Promise<T> {
    return this.answers ? Promise.resolve(value) : new Promise(() => {});
  }
}

function setUp() {
  const redis = new FakeRedis();
  const read: string[] = [];
  const decided: { rules: MerchantRules; descriptor: Descriptor }[] = [];
  let defaults = 0;
  const rules = {
    loadDefaults: () => Promise.resolve({ version: ++defaults, rules: [] }),
    load: (id: string) => (
      read.push(id),
      id === 'broken' ? Promise.reject(new Error('no answer')) : Promise.resolve('unknown_merchant' as const)
    ),
  };
  const limiter = {
    check: (of: MerchantRules, descriptor: Descriptor, answer: (outcome: CheckOutcome) => void) => (
      decided.push({ rules: of, descriptor }),
      answer({} as CheckOutcome)
    ),
  };
  let rehearsals = 0;
  const ruleSource = {
    rehearse: () => (rehearsals++, redis.busy === null ? Promise.reject(new Error('no tables')) : Promise.resolve()),
  };
  const stopping = new AbortController();
  const run = (limits: { connectWithinMs?: number; warmWithinMs?: number } = {}) =>
    warmUp({
      redis: redis as unknown as Redis,
      snapshotRedis: redis as unknown as Redis,
      rules,
      ruleSource,
      limiter,
      changesKnown: Promise.resolve(),
      signal: stopping.signal,
      ...limits,
    });
  return { redis, rules, ruleSource, limiter, stopping, read, decided, run, defaultsRead: () => defaults, rehearsals: () => rehearsals };
}

test('the warm-up reads no rules before changes are listened for', async () => {
  const { limiter, read, redis, rules, ruleSource, defaultsRead } = setUp();
  redis.busy = JSON.stringify(['m1']);
  let known!: () => void;
  const changesKnown = new Promise<void>((resolve) => (known = resolve));
  const warm = warmUp({
    redis: redis as unknown as Redis,
    snapshotRedis: redis as unknown as Redis,
    rules,
    ruleSource,
    limiter,
    changesKnown,
    signal: new AbortController().signal,
  });
  // Nothing else is waited for: microtasks are enough for all that could happen.
  for (let i = 0; i < 100; i++) await Promise.resolve();
  expect([read.length, defaultsRead()]).toEqual([0, 0]);
  known();
  await warm;
  expect([read, defaultsRead()]).toEqual([['m1', ...NOBODIES], 1]);
});

test('the warm-up reads the rules of the busiest merchants, loads the scripts and decides a few hundred times', async () => {
  const { redis, read, decided, run, defaultsRead, rehearsals } = setUp();
  redis.busy = JSON.stringify(Array.from({ length: 120 }, (_, i) => `m${i}`));
  expect(await run()).toEqual({ redisAnswered: true, merchants: 120, decisions: 400 });
  expect([defaultsRead(), rehearsals()]).toEqual([1, 1]);
  expect(read).toEqual([...Array.from({ length: 120 }, (_, i) => `m${i}`), ...NOBODIES]);
  expect(redis.loaded).toHaveLength(4);
  expect(decided).toHaveLength(400);
});

test('each decision of the warm-up costs nothing or cannot pass, and has a target of its own', async () => {
  const { decided, run } = setUp();
  await run();
  const rehearsed = decided.flatMap(({ rules }) => rules.layers.flatMap(({ enforced }) => enforced.map(({ rule }) => rule)));
  expect(
    rehearsed.filter(({ cost, limits }) => cost !== 0 && !limits.every((limit) => 'capacity' in limit && limit.capacity === 0)),
  ).toEqual([]);
  expect(new Set(decided.map(({ descriptor }) => descriptor.target)).size).toBe(400);
});

test.each([null, 'no JSON', '{"m":1}', '[1,null,{}]'])('the warm-up goes on without a list of busy merchants (%s)', async (busy) => {
  const { redis, read, run } = setUp();
  redis.busy = busy;
  expect(await run()).toEqual({ redisAnswered: true, merchants: 0, decisions: 400 });
  expect(read).toEqual(NOBODIES);
});

test('a merchant that cannot be read does not delay the warm-up', async () => {
  const { redis, run } = setUp();
  redis.busy = '["a","broken","b"]';
  expect(await run()).toEqual({ redisAnswered: true, merchants: 2, decisions: 400 });
});

test('the warm-up waits for a connection to Redis', async () => {
  const { redis, run, decided } = setUp();
  redis.status = 'connecting';
  const outcome = run();
  await new Promise((resolve) => setImmediate(resolve));
  expect(decided).toEqual([]);
  redis.emit('ready');
  expect(await outcome).toMatchObject({ redisAnswered: true, decisions: 400 });
  expect(redis.listenerCount('ready')).toBe(0);
});

test('the warm-up ends without Redis in time, and leaves nothing behind', async () => {
  const { redis, run } = setUp();
  redis.status = 'connecting';
  expect(await run({ connectWithinMs: 1 })).toEqual({ redisAnswered: false, merchants: 0, decisions: 0 });
  expect(redis.listenerCount('ready')).toBe(0);
});

test('the warm-up ends when Redis is connected and silent', async () => {
  const { redis, run } = setUp();
  redis.answers = false;
  expect(await run({ warmWithinMs: 1 })).toEqual({ redisAnswered: true, merchants: 0, decisions: 0 });
});

test('a gateway that stops does not wait for its warm-up', async () => {
  const { redis, stopping, run } = setUp();
  redis.status = 'connecting';
  const outcome = run({ connectWithinMs: 3_600_000 });
  stopping.abort();
  expect(await outcome).toMatchObject({ redisAnswered: false });
});

import { readFileSync } from 'node:fs';
import { bucketOf, StoreUnavailableError, type BucketTake } from '#limiter';
import { bucketTake, isAllowed, startedLimit, taken, takeFrom } from '#limiter/testing';
import {
  ChangeFeed,
  createRedis,
  preloadBuckets,
  RedisBucketStore,
  RedisReceiptStore,
  RedisSnapshotStore,
  RedisUsageStore,
  reportLoad,
  type StoreFailure,
} from '#limiter-redis';
import { Redis } from 'ioredis';
import { merchantSnapshot } from '../../support/factories/merchants.js';
import { rule } from '../../support/factories/rules.js';
import { SLOWNESS } from '../../support/patience.mjs';
import { Forwarder } from '../../support/forwarder.mjs';
import { freshRedis, type TestRedis } from '../../support/services.js';
import { until } from '../../support/until.js';

/** A Redis that answers, and carries out no takes: the store names the reason, grants nothing that is not written, and heals by itself. */

let server: TestRedis;
let successor: TestRedis;
/** Changes the server, as the tests' own user. */
let admin: Redis;
const undo: (() => void)[] = [];

beforeAll(async () => {
  [server, successor] = await Promise.all([freshRedis(), freshRedis()]);
  admin = new Redis(server.url, { connectionName: 'admin' }).on('error', () => {});
});

afterEach(async () => {
  for (const each of undo.splice(0).reverse()) each();
  await admin.config('SET', 'maxmemory', '0');
  await admin.call('REPLICAOF', 'NO', 'ONE');
  await admin.config('SET', 'requirepass', '');
  await admin.flushall();
});

afterAll(async () => {
  admin.disconnect();
  await Promise.all([server.stop(), successor.stop()]);
});

const DEADLINE_MS = 100 * SLOWNESS;
const limit = startedLimit(
  { name: 'l', algorithm: 'token_bucket', capacity: 3, refillTokens: 1, refillIntervalMs: 3_600_000, refill: 'greedy' },
  0,
);

interface Watched {
  store: RedisBucketStore;
  redis: Redis;
  failures: StoreFailure[];
  changes: boolean[];
}

async function watchedStore(url = server.url, ready = true): Promise<Watched> {
  const redis = createRedis(url, 'limiter') as Redis;
  const failures: StoreFailure[] = [];
  const changes: boolean[] = [];
  const store = new RedisBucketStore(redis, {
    deadlineMs: DEADLINE_MS,
    onFailure: (failure) => failures.push(failure),
    onAvailability: (each) => changes.push(each),
  });
  undo.push(() => {
    store.close();
    redis.disconnect();
  });
  if (ready) await until('the connection is ready', () => redis.status === 'ready');
  return { store, redis, failures, changes };
}

const take = async (store: RedisBucketStore, key = 'k'): Promise<boolean> => (await takeFrom(store, [{ key, limit }]))[0]!.allowed;
const codesOf = ({ failures }: Watched): string[] => [...new Set(failures.map(({ code }) => code))];

/** Asks without a pause for so long, and says what was answered. */
async function keepAsking(
  store: RedisBucketStore,
  ms: number,
  key = 'asked',
): Promise<{ granted: number; refused: number; failed: number }> {
  const outcome = { granted: 0, refused: 0, failed: 0 };
  for (const end = performance.now() + ms; performance.now() < end; await new Promise((resolve) => setTimeout(resolve, 5))) {
    await take(store, key).then(
      (allowed) => outcome[allowed ? 'granted' : 'refused']++,
      () => outcome.failed++,
    );
  }
  return outcome;
}

describe('a full Redis', () => {
  const fill = (): Promise<unknown> => admin.config('SET', 'maxmemory', '1');

  test('is named, and makes the store unavailable once', async () => {
    const watched = await watchedStore();
    await fill();
    expect(await keepAsking(watched.store, 2000)).toMatchObject({ granted: 0, refused: 0 });
    expect(codesOf(watched)).toEqual(['OOM']);
    expect(watched.changes).toEqual([false]);
    expect(watched.store.failure?.code).toBe('OOM');
    expect([watched.store.available, watched.store.readable]).toEqual([false, true]);
    await admin.config('SET', 'maxmemory', '0');
    await until('takes are carried out', () => watched.store.available);
    expect(await take(watched.store)).toBe(true);
    expect(watched.changes).toEqual([false, true]);
  });

  test('still refuses by a bucket that is empty', async () => {
    const { store } = await watchedStore();
    for (let i = 0; i < 3; i++) expect(await take(store)).toBe(true);
    await fill();
    await expect(take(store, 'other')).rejects.toThrow(StoreUnavailableError);
    expect(store.available).toBe(false);
    expect(await take(store)).toBe(false);
    expect(await keepAsking(store, 300, 'k')).toMatchObject({ granted: 0, failed: 0 });
  });

  test('has written nothing of a call in which anything failed, whatever the algorithms', async () => {
    const { store } = await watchedStore();
    const log = startedLimit({ name: 'log', algorithm: 'sliding_log', limit: 5, windowMs: 3_600_000 }, 0);
    for (let i = 0; i < 3; i++) await take(store, 'empty');
    const before = await contents();
    await fill();
    // In one turn of the event loop: one call.
    const asked: BucketTake[][] = Array.from({ length: 40 }, (_, i) =>
      [
        i % 3 === 0
          ? [bucketTake('empty', limit)]
          : i % 3 === 1
            ? [bucketTake(`new${i}`, limit), bucketTake(`log${i}`, log)]
            : [bucketTake(`log${i}`, log)],
      ].flat(),
    );
    const outcomes = await Promise.all(
      asked.map((takes) =>
        taken(store, takes).then(
          (receipt) => (isAllowed(receipt) ? 'granted' : 'refused'),
          () => 'failed',
        ),
      ),
    );
    expect(outcomes).toEqual(asked.map((_, i) => (i % 3 === 0 ? 'refused' : 'failed')));
    expect(await contents()).toEqual(before);
  });

  test('carries out no operation, and says so; what reads is answered', async () => {
    const { store } = await watchedStore();
    for (let i = 0; i < 3; i++) await take(store);
    await store.operate('blocked', bucketOf(limit), { kind: 'block', forMs: 3_600_000 });
    await admin.set('tg:from the future', '9000000000000000');
    const before = await contents();
    await fill();
    for (const operation of [{ kind: 'reset' }, { kind: 'adjust', tokens: 2 }, { kind: 'block', forMs: 1000 }] as const) {
      await expect(store.operate('k', bucketOf(limit), operation)).rejects.toThrow('OOM');
    }
    await expect(store.operate('blocked', bucketOf(limit), { kind: 'unblock' })).rejects.toThrow(StoreUnavailableError);
    expect(store.failure?.code).toBe('OOM');
    expect(await store.operate('k', bucketOf(limit), { kind: 'read' })).toMatchObject({ remaining: 0, blockedForMs: 0 });
    expect((await store.operate('blocked', bucketOf(limit), { kind: 'read' })).blockedForMs).toBeGreaterThan(3_000_000);
    // A look would mend it, and cannot.
    expect(await store.operate('from the future', bucketOf(limit), { kind: 'read' })).toMatchObject({ remaining: 0 });
    // A refusal by a block is an answer, as any other.
    expect(await take(store, 'blocked')).toBe(false);
    expect(await contents()).toEqual(before);
  });

  test('grants what was not taken again once there is room', async () => {
    const { store } = await watchedStore();
    await take(store);
    await fill();
    for (let i = 0; i < 5; i++) await expect(take(store)).rejects.toThrow('OOM');
    await admin.config('SET', 'maxmemory', '0');
    await until('takes are carried out', () => store.available);
    expect([await take(store), await take(store), await take(store)]).toEqual([true, true, false]);
  });

  async function contents(): Promise<Record<string, string>> {
    const keys = (await admin.keys('*')).sort();
    return Object.fromEntries(await Promise.all(keys.map(async (key) => [key, await admin.get(key)])));
  }
});

describe('a Redis that does not let in', () => {
  const withUser = (user: string): string => server.url.replace('redis://', `redis://${user}@`);

  test.each([
    ['a user who may not run scripts', ['+@all', '-evalsha', '-eval']],
    ['a user whose scripts may not write', ['+@all', '-set']],
  ])('%s is named NOPERM', async (_claim, permissions) => {
    await admin.call('ACL', 'SETUSER', 'limited', 'reset', 'on', '>secret', '~*', '&*', ...permissions);
    const watched = await watchedStore(withUser('limited:secret'));
    expect(await keepAsking(watched.store, 500)).toMatchObject({ granted: 0, refused: 0 });
    expect(codesOf(watched)).toEqual(['NOPERM']);
    expect(watched.changes).toEqual([false]);
    await admin.call('ACL', 'SETUSER', 'limited', '+@all');
    await until('takes are carried out', () => watched.store.available);
  });

  test('a user with the permissions that the documentation lists can do all that Tollgate does', async () => {
    const documented = /^ACL SETUSER tollgate (.+)$/m.exec(
      readFileSync(new URL('../../../docs/operations.md', import.meta.url), 'utf8'),
    )![1]!;
    await admin.call('ACL', 'SETUSER', 'tollgate', ...documented.replace('>PASSWORD', '>secret').split(' '));
    const { store, redis, failures } = await watchedStore(withUser('tollgate:secret'));
    const subscriber = createRedis(withUser('tollgate:secret'), 'subscriber') as Redis;
    const messages: (string | null)[] = [];
    const feed = new ChangeFeed(redis, subscriber, {
      changed: (merchantId) => messages.push(merchantId),
      plansChanged: () => {},
      changedSome: () => {},
    });
    undo.push(() => {
      feed.stop();
      subscriber.disconnect();
    });
    const snapshots = new RedisSnapshotStore(redis);
    const snapshot = merchantSnapshot('acme');
    const receipt = await taken(store, [bucketTake('{acme}1.0', limit)]);
    store.refund(receipt);
    await store.operate('{acme}2.0', bucketOf(limit), { kind: 'reset' });
    for (const version of [1, 1, 2]) await snapshots.write([{ ...snapshot, version }], 60_000);
    await snapshots.writeDefaultRules({ version: 1, rules: [] });
    expect([await snapshots.read('acme'), await snapshots.readDefaultRules()]).toMatchObject([{ version: 2 }, { version: 1 }]);
    await preloadBuckets(redis, [{ ...snapshot, rules: [rule({ limits: [limit] })] }], 60_000);
    for (const gateway of ['gone', 'here']) expect((await reportLoad(redis, gateway, 1)).gateways).toBeGreaterThan(0);
    await feed.start();
    await until('a message comes', async () => {
      await snapshots.announce(['acme']);
      return messages.includes('acme');
    });
    const usage = new RedisUsageStore(redis);
    // So many that one of a rank has to give way.
    const counts = { ruleId: '1', passed: 0, refused: 1, shadowRefused: 0, leastPercent: 0 };
    const merchants = Array.from({ length: 1001 }, (_, i) => ({
      merchantId: `m${i}`,
      rules: [counts, { ...counts, ruleId: '2', refused: 0 }],
    }));
    await usage.add({ gateway: 'g', number: 1, merchants }, 0);
    expect((await usage.read(['m1'], 0, 1)).size + (await usage.ranked('near', Date.now(), Date.now() + 1, 1)).length).toBe(2);
    const receipts = new RedisReceiptStore(redis);
    const seen = { merchantId: 'acme', isKnownMerchant: true, ageMs: 0, allowed: false, method: 'GET', path: '/', pathIsCut: false };
    const why = { ignorePathCase: false, reason: 'over_limit', source: 'store', retryAfterMs: 1, limits: [] };
    for (const requestId of ['a', 'b', 'b']) await receipts.add([{ ...seen, ...why, requestId }], { most: 1, perMinute: 10 });
    expect((await receipts.find('b', null))?.requestId).toBe('b');
    expect((await receipts.newest(5, { merchants: null })).items).toHaveLength(1);
    await until('the refund was written', async () => (await takeFrom(store, [{ key: '{acme}1.0', limit, cost: 0 }]))[0]!.remaining === 3);
    expect(failures).toEqual([]);
  });

  test('a wrong password is named WRONGPASS, and nobody is told it', async () => {
    const watched = await watchedStore(withUser('limited:wrong-hunter2'), false);
    await until('it is named', async () => {
      await keepAsking(watched.store, 50);
      return watched.store.failure?.code === 'WRONGPASS';
    });
    expect(JSON.stringify(watched.failures)).not.toContain('hunter2');
  });

  test('a missing password is named NOAUTH', async () => {
    await admin.config('SET', 'requirepass', 'secret');
    const watched = await watchedStore(server.url, false);
    await until('it is named', async () => {
      await keepAsking(watched.store, 50);
      return watched.store.failure?.code === 'NOAUTH';
    });
  });

  test('a Redis that is gone is named REFUSED', async () => {
    const watched = await watchedStore('redis://127.0.0.1:1', false);
    await until('it is named', async () => {
      await keepAsking(watched.store, 50);
      return watched.store.failure?.code === 'REFUSED';
    });
  });
});

test('a store that nobody asks finds out by itself that it is not let in any more, and that it is again', async () => {
  const watched = await watchedStore();
  await admin.config('SET', 'requirepass', 'secret');
  await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  await until('it is named', () => watched.store.failure?.code === 'NOAUTH');
  await admin.config('SET', 'requirepass', '');
  await until('takes are carried out', () => watched.store.available);
  expect(watched.changes).toEqual([false, true]);
});

describe('a failover in which the address moves and the connection stays', () => {
  let forwarder: Forwarder;
  beforeEach(async () => {
    forwarder = await Forwarder.to(server.port);
    undo.push(() => forwarder.close());
  });

  test('takes reach the new primary, and are taken once', async () => {
    const fresh = new Redis(successor.url);
    undo.push(() => fresh.disconnect());
    const watched = await watchedStore(forwarder.url);
    await take(watched.store);
    await admin.call('REPLICAOF', '127.0.0.1', String(successor.port));
    forwarder.moveTo(successor.port);
    await expect(take(watched.store)).rejects.toThrow('READONLY');
    await until('takes are carried out', () => watched.store.available);
    // Nothing of what the replica has refused was sent again.
    expect(await fresh.exists('tg:k')).toBe(0);
    expect([await take(watched.store), await take(watched.store), await take(watched.store), await take(watched.store)]).toEqual([
      true,
      true,
      true,
      false,
    ]);
    expect(watched.changes).toEqual([false, true]);
    expect(codesOf(watched)[0]).toBe('READONLY');
  });

  test('a server that stays a replica is not flooded with connections', async () => {
    const watched = await watchedStore(forwarder.url);
    await admin.call('REPLICAOF', '127.0.0.1', String(successor.port));
    const startedMs = performance.now();
    await keepAsking(watched.store, 2000);
    const attempts = Math.ceil((performance.now() - startedMs) / 250);
    expect(watched.changes).toEqual([false]);
    expect(codesOf(watched)).toEqual(['READONLY']);
    expect(forwarder.accepted).toBeGreaterThan(2);
    expect(forwarder.accepted).toBeLessThanOrEqual(2 + attempts);
  });

  test('a connection on which nothing comes back any more is replaced', async () => {
    const watched = await watchedStore(forwarder.url);
    await take(watched.store);
    forwarder.swallow();
    // The store's own deadline, or, where that is stretched for a slow machine, the connection's.
    await expect(take(watched.store)).rejects.toThrow(/no answer|timed out/);
    expect(watched.failures[0]!.code).toBe('TIMEOUT');
    // Two probes without an answer; the heartbeat alone would take four seconds.
    await until('takes are carried out', () => watched.store.available, 3000);
    expect(await take(watched.store)).toBe(true);
  });
});

import { bucketKey, startLimits, type Limit, type LimitSpec } from '#limiter';
import { bucketTake, taken, takeFrom } from '#limiter/testing';
import { createRedis, openBuckets, type RedisBuckets, type RedisConnection } from '#limiter-redis';
import { SLOWNESS } from '../../support/patience.mjs';
import { freshRedisCluster, type TestCluster } from '../../support/redis-cluster.js';
import { until } from '../../support/until.js';

/** Three masters: the buckets of one merchant lie together, those of different merchants anywhere. */

let servers: TestCluster;
let clusters: RedisConnection[];
let stores: RedisBuckets[];

beforeAll(async () => {
  servers = await freshRedisCluster();
  clusters = [0, 1].map(() => createRedis(servers.url, 'limiter'));
  for (const cluster of clusters) await until('the cluster can be used', async () => (await cluster.set('ready', '1')) === 'OK', 30_000);
  stores = clusters.map((cluster) => openBuckets(cluster, { deadlineMs: 20_000 }));
});
afterAll(async () => {
  for (const store of stores) store.close();
  for (const cluster of clusters) cluster.disconnect();
  await servers.stop();
});

const HOUR_MS = 3_600_000;
const specs: LimitSpec[] = [
  { name: 'bucket', algorithm: 'token_bucket', capacity: 7, refillTokens: 1, refillIntervalMs: HOUR_MS, refill: 'greedy' },
  { name: 'log', algorithm: 'sliding_log', limit: 9, windowMs: HOUR_MS },
  { name: 'at once', algorithm: 'concurrency', limit: 11, slotTimeoutMs: HOUR_MS },
];
const limits = startLimits(specs, 0);
const keysOf = (merchantId: string): string[] =>
  limits.map((limit: Limit) => bucketKey({ id: '1', key: ['merchant'] }, limit.id, { merchantId, ip: '', method: '', target: '' }));

test('several limits of a merchant are asked in one call, exactly, by two stores at once', async () => {
  const merchants = Array.from({ length: 30 }, (_, i) => `m${i}`);
  const passed = new Map<string, number>();
  await Promise.all(
    merchants.flatMap((merchantId) =>
      Array.from({ length: 20 }, async (_, i) => {
        const asked = keysOf(merchantId).map((key, n) => ({ key, limit: limits[n]! }));
        const decisions = await takeFrom(stores[i % 2]!, asked);
        if (decisions.every(({ allowed }) => allowed)) passed.set(merchantId, (passed.get(merchantId) ?? 0) + 1);
      }),
    ),
  );
  // The smallest of the three decides.
  expect([...passed.values()]).toEqual(merchants.map(() => 7));
  // What the smallest has refused was taken from none of the others.
  for (const merchantId of merchants) {
    const [, log, slots] = await takeFrom(
      stores[0]!,
      keysOf(merchantId).map((key, n) => ({ key, limit: limits[n]!, cost: 0 })),
    );
    expect([log!.remaining, slots!.remaining]).toEqual([2, 4]);
  }
});

test('slots are freed', async () => {
  const [, , key] = keysOf('freed');
  const take = bucketTake(key!, limits[2]!, 11);
  await taken(stores[0]!, [take], 5);
  expect((await takeFrom(stores[1]!, [{ key: key!, limit: limits[2]! }]))[0]!.allowed).toBe(false);
  stores[0]!.release({ takes: [take], holder: 5 });
  await until(
    'the slots are free',
    async () => (await takeFrom(stores[1]!, [{ key: key!, limit: limits[2]!, cost: 0 }]))[0]!.remaining === 11,
  );
});

test('a cluster whose masters were frozen is used again', async () => {
  const cluster = createRedis(servers.url, 'limiter');
  await until('the cluster can be used', async () => (await cluster.set('ready', '1')) === 'OK');
  const store = openBuckets(cluster, { deadlineMs: 100 * SLOWNESS });
  try {
    const [key] = keysOf('frozen');
    const take = () => takeFrom(store, [{ key: key!, limit: limits[0]! }]);
    await take();
    for (let i = 0; i < 3; i++) servers.freeze(i);
    await expect(take()).rejects.toThrow('no answer');
    for (let i = 0; i < 3; i++) servers.thaw(i);
    await until('takes are carried out', () => store.available, 30_000);
    expect((await take())[0]!.remaining).toBeLessThanOrEqual(5);
  } finally {
    store.close();
    cluster.disconnect();
  }
});

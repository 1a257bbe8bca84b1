import type { MerchantSnapshot } from '#limiter';
import { burst } from '#limiter/testing';
import {
  bucketsInAdvance,
  compactSnapshotText,
  createBucketsOf,
  MerchantBatch,
  type MerchantInBatch,
  RedisSnapshotStore,
  snapshotKey,
} from '#limiter-redis';
import { merchantSnapshot } from '../../support/factories/merchants.js';
import { rule } from '../../support/factories/rules.js';
import { redisForFile } from '../../support/redis-for-file.js';

const { redis } = await redisForFile();
const store = new RedisSnapshotStore(redis);

const AWKWARD = 'two\r\nlines, $5\r\n, ü 🙂';

const snapshots: readonly MerchantSnapshot[] = [
  merchantSnapshot('default-rules-alone', { rules: [] }),
  merchantSnapshot('a{b}:c%', { rules: [rule({ id: '1', name: AWKWARD })] }),
  merchantSnapshot('two', {
    rules: [rule({ id: '2', limits: [{ ...rule({}).limits[0]!, ...burst(), id: 0 }] }), rule({ id: '3', key: ['merchant', 'ip'] })],
  }),
];
const inBatch = (snapshot: MerchantSnapshot): MerchantInBatch => ({
  merchantId: snapshot.merchantId,
  text: compactSnapshotText(snapshot),
  buckets: bucketsInAdvance(snapshot),
});

function batchOf(merchants: readonly MerchantSnapshot[]): MerchantBatch {
  const batch = new MerchantBatch();
  for (const merchant of merchants) batch.add(inBatch(merchant));
  return batch;
}

async function write(batch: MerchantBatch, ttlMs = 60_000) {
  const counts = await store.writeBatch(batch, 'compact', ttlMs);
  await createBucketsOf(redis, batch, ttlMs);
  return counts;
}

beforeEach(() => redis.flushall());

test('a batch writes the snapshots and buckets that its merchants have, and nothing else', async () => {
  expect(await write(batchOf(snapshots))).toEqual({ written: 3, newer: 0 });
  for (const snapshot of snapshots) {
    expect(await redis.get(snapshotKey(snapshot.merchantId))).toBe(compactSnapshotText(snapshot));
    expect(await store.read(snapshot.merchantId)).toEqual(snapshot);
  }
  const keys = [...snapshots.map(({ merchantId }) => snapshotKey(merchantId)), ...snapshots.flatMap(bucketsInAdvance)];
  expect((await redis.keys('*')).sort()).toEqual(keys.sort());
  for (const key of keys) expect(await redis.pttl(key)).toBeGreaterThan(0);
});

test('a newer snapshot and a live bucket stay as they are', async () => {
  const [first, ...others] = snapshots;
  const newer = { ...first!, version: first!.version + 1 };
  await store.write([newer], 60_000);
  const [bucket] = bucketsInAdvance(others[0]!);
  await redis.set(bucket!, 'live', 'PX', 10_000);
  expect(await write(batchOf(snapshots))).toEqual({ written: 2, newer: 1 });
  expect(await store.read(first!.merchantId)).toEqual(newer);
  expect(await redis.get(bucket!)).toBe('live');
  expect(await redis.pttl(bucket!)).toBeLessThanOrEqual(10_000);
});

test('a batch is sent again to a Redis that does not know the scripts', async () => {
  await redis.script('FLUSH');
  expect(await write(batchOf(snapshots))).toEqual({ written: 3, newer: 0 });
  expect(await redis.dbsize()).toBe(snapshots.length + snapshots.flatMap(bucketsInAdvance).length);
});

test('merchants come out of a batch as they went in', () => {
  expect([...batchOf(snapshots).merchants()]).toEqual(snapshots.map(inBatch));
});

test('a batch of merchants without buckets creates none', async () => {
  await write(batchOf(snapshots.slice(0, 1)));
  expect(await redis.keys('*')).toEqual([snapshotKey('default-rules-alone')]);
});

test('a batch grows beyond what usual merchants take', async () => {
  const long = Array.from({ length: 1000 }, (_, i) => merchantSnapshot(`m${i}`, { rules: [rule({ id: '1', name: AWKWARD.repeat(4) })] }));
  expect(await write(batchOf(long))).toEqual({ written: 1000, newer: 0 });
  expect(await store.read('m999')).toEqual(long[999]);
});

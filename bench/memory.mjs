/** Bytes of Redis memory that a merchant's preloaded bucket takes, with its key and its time to live. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createRedis, preloadBuckets, RedisSnapshotStore } from '#limiter-redis';
import { figure } from './shared/figures.mjs';
import { snapshotOf } from './shared/merchants.mjs';
import { databaseBytes, fillDatabase } from './shared/preload-bed.mjs';

export const title = 'memory of preloaded buckets and snapshots in Redis, disk of PostgreSQL';

const MERCHANTS = 1_000_000;
const CHUNK = 1000;
const TTL_MS = 3_600_000;

/** @param {import('./run.mjs').Bench} bench @returns {Promise<import('./shared/figures.mjs').Figure[]>} */
export async function run({ workshop, quick, say }) {
  const server = await workshop.redis();
  const redis = createRedis(server.url, 'queue-worker');
  const store = new RedisSnapshotStore(redis, undefined, { compact: async () => true });
  const merchants = quick ? MERCHANTS / 8 : MERCHANTS;
  try {
    const { bytes: bucketBytes, keys } = await growth(redis, merchants, (snapshots) => preloadBuckets(redis, snapshots, TTL_MS));
    if (keys !== merchants) throw new Error(`${keys} buckets were created, not ${merchants}`);
    say(`${merchants} buckets: ${Math.round(bucketBytes / 2 ** 20)} MB`);
    const bytesOf = async (/** @type {(index: number) => ReturnType<typeof snapshotOf>} */ snapshot) => {
      await redis.flushall();
      return (await growth(redis, merchants / 10, (snapshots) => store.write(snapshots, TTL_MS), snapshot)).bytes / (merchants / 10);
    };
    const withRule = await bytesOf(snapshotOf);
    const withoutRules = await bytesOf((index) => snapshotOf(index, { rules: false }));
    say(`a snapshot: ${Math.round(withRule)} B, without rules ${Math.round(withoutRules)} B`);
    const postgres = await workshop.postgres();
    const emptyBytes = await databaseBytes(postgres.url);
    await fillDatabase(postgres.url, merchants / 10);
    const rowBytes = ((await databaseBytes(postgres.url)) - emptyBytes) / (merchants / 10);
    say(`PostgreSQL: ${Math.round(rowBytes)} B a merchant`);
    return [
      // It does not vary: once is enough.
      figure('memory: a preloaded bucket, key and TTL included', [bucketBytes / merchants], {
        unit: 'B',
        goal: { atMost: 130 },
        details: { merchants },
      }),
      figure('memory: snapshot of a merchant with one rule', [withRule], { unit: 'B', goal: { atMost: 400 } }),
      figure('  mark of a merchant without rules of its own', [withoutRules], { unit: 'B' }),
      figure('memory: PostgreSQL, a merchant with one rule, indexes included', [rowBytes], {
        unit: 'B',
        details: { merchants: merchants / 10 },
      }),
    ];
  } finally {
    redis.disconnect();
  }
}

/**
 * @param {import('#limiter-redis').RedisConnection} redis
 * @param {number} merchants
 * @param {(snapshots: ReturnType<typeof snapshotOf>[]) => Promise<unknown>} write
 * @param {(index: number) => ReturnType<typeof snapshotOf>} [snapshot]
 */
async function growth(redis, merchants, write, snapshot = snapshotOf) {
  const before = await settled(redis);
  for (let first = 0; first < merchants; first += CHUNK) await write(Array.from({ length: CHUNK }, (_, i) => snapshot(first + i)));
  const after = await settled(redis);
  return { bytes: after.bytes - before.bytes, keys: after.keys - before.keys };
}

/**
 * Waits until Redis has moved to its new hash table, which it does little by little, and let go of buffers.
 * @param {import('#limiter-redis').RedisConnection} redis
 */
async function settled(redis) {
  for (let last = -1; ; await sleep(500)) {
    const bytes = Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]);
    if (Math.abs(bytes - last) < 64 * 1024) return { bytes, keys: await redis.dbsize() };
    last = bytes;
  }
}

/**
 * Carries merchants to Redis as the preloader does, by the same code, but makes them up instead of reading PostgreSQL:
 * node preload-writer.mjs '{"redisUrl":"redis://127.0.0.1:6379","merchants":200000,"what":"all"}'
 * `what`: all, or only buckets. Prints what it took as JSON.
 */
import { join } from 'node:path';
import { allReadCompactSnapshots, bucketInAdvance, createBuckets, createRedis, RedisSnapshotStore } from '#limiter-redis';
import { DIST } from '../../scripts/paths.mjs';
import { copiedRows } from '../shared/copied-rows.mjs';
import { merchantId, ruleId } from '../shared/merchants.mjs';

const { redisUrl, merchants, what } = JSON.parse(process.argv[2] ?? '');

/** What the preloader has by default. */
const CHUNK_MERCHANTS = 1000;
const TTL_MS = 3_600_000;

const redis = createRedis(redisUrl, 'limiter');
await new Promise((resolve) => redis.once('ready', resolve));

/** Ids grow with the index, so the cursor tells where to go on. @param {string | null} cursor @param {number} count */
function indexesAfter(cursor, count) {
  const first = cursor === null ? 0 : Number(cursor.slice(1)) + 1;
  return Array.from({ length: Math.max(0, Math.min(count, merchants - first)) }, (_, i) => first + i);
}

const reader = {
  /** @param {string | null} cursor @param {number} count @param {(rows: import('#rules-db').MerchantRows) => unknown} make */
  async merchantsAfter(cursor, count, make) {
    return indexesAfter(cursor, count).map((i) => make(copiedRows(i)));
  },
};

async function carryAll() {
  const { FullPreload } = await import(join(DIST, 'apps', 'preloader', 'src', 'full-preload', 'full-preload.js'));
  const { PreloaderMetrics } = await import(join(DIST, 'apps', 'preloader', 'src', 'metrics.js'));
  const { createRegistry } = await import('#platform');
  const failed = (/** @type {unknown[]} */ ...reasons) => {
    console.error(...reasons);
    process.exit(1);
  };
  const preload = new FullPreload({
    reader,
    store: new RedisSnapshotStore(redis, undefined, { compact: () => allReadCompactSnapshots(redis) }),
    redis,
    dependencies: { outageBehind: failed },
    metrics: new PreloaderMetrics(createRegistry('preloader'), async () => 0),
    logger: { warn: failed },
    enqueueReloads: async (/** @type {unknown} */ reloads) => failed('not carried:', reloads),
    chunkMerchants: CHUNK_MERCHANTS,
    ttlMs: TTL_MS,
  });
  return async () => {
    const begun = { jobId: 'bench', cursor: null, done: 0, skipped: 0, total: merchants, startedAtMs: Date.now(), resumes: 0 };
    const { done } = await preload.continue(begun, () => {}, new AbortController().signal);
    if (done !== merchants) failed(`${done} merchants were carried, not ${merchants}`);
  };
}

/** A few calls under way, as the preloader has. Keys are made of ids as a full preload makes them; whole snapshots would take longer to invent than to carry. */
async function carryBuckets() {
  return async () => {
    /** @type {Promise<unknown>[]} */
    const underWay = [];
    for (let first = 0; first < merchants; first += CHUNK_MERCHANTS) {
      const keys = [];
      const end = Math.min(merchants, first + CHUNK_MERCHANTS);
      for (let i = first; i < end; i++) keys.push(bucketInAdvance(merchantId(i), ruleId(i), 0));
      underWay.push(createBuckets(redis, keys, TTL_MS));
      if (underWay.length >= 3) await underWay.shift();
    }
    await Promise.all(underWay);
  };
}

const carry = what === 'all' ? await carryAll() : await carryBuckets();
console.log('measuring');
const [startedMs, cpuBefore] = [performance.now(), process.cpuUsage()];
await carry();
const seconds = (performance.now() - startedMs) / 1000;
const { user, system } = process.cpuUsage(cpuBefore);
console.log(JSON.stringify({ seconds, busy: (user + system) / 1e6 / seconds }));
redis.disconnect();

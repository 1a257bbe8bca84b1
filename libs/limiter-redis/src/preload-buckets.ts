import { capacityOf, excessOf, GENERATIONS, isMerchantKeyed, merchantBucketKey, quotaWindowMs, type Limit, type MerchantSnapshot } from '#limiter';
import type { Redis } from 'ioredis';
import { BUCKET_PREFIX } from './redis-keys.js';
import { Script } from './scripts.js';

const script = new Script('preload-buckets');

/** Takes rely on a bucket to live for two epochs of lua/take.lua, unless they say otherwise. */
const SHORTEST_TTL_MS = 128_000;

/** By how much this machine's clock may be ahead of Redis'. */
const CLOCK_DIFFERENCE_MS = 60_000;

/**
 * Creates the buckets of merchants before their first request, in one round trip. A bucket that is there is left as it
 * is. Rules whose buckets depend on the request (by address, say) have none in advance, and limits that have not filled up
 * since they started neither: a missing bucket tells their level better than a written one.
 */
export async function preloadBuckets(
  redis: Redis,
  snapshots: readonly MerchantSnapshot[],
  ttlMs: number,
  nowMs = Date.now(),
): Promise<{ created: number; live: number }> {
  const keys: string[] = [];
  const generations: string[] = [];
  for (const { merchantId, rules } of snapshots) {
    for (const rule of rules) {
      if (!isMerchantKeyed(rule)) continue;
      for (const limit of rule.limits) {
        if (!isSettled(limit, nowMs)) continue;
        keys.push(BUCKET_PREFIX + merchantBucketKey(merchantId, rule.id, limit.id));
        generations.push(String(limit.generation % GENERATIONS));
      }
    }
  }
  if (keys.length === 0) return { created: 0, live: 0 };
  const created = (await script.run(redis, keys, [String(Math.max(ttlMs, SHORTEST_TTL_MS)), ...generations])) as number;
  return { created, live: keys.length - created };
}

/** Left alone since it started, the bucket is full by now, on whoever's clock. */
function isSettled(limit: Limit, nowMs: number): boolean {
  if (!isGreedy(limit)) return false;
  const capacity = capacityOf(limit) + excessOf(limit);
  if (limit.since.tokens > capacity) return false;
  if (limit.since.tokens === capacity) return true;
  // The excess of a soft limit is at most as much again.
  return limit.since.atMs + 2 * quotaWindowMs(limit) + CLOCK_DIFFERENCE_MS < nowMs;
}

/** The others count what was taken, and begin with nothing. */
function isGreedy(limit: Limit): boolean {
  return limit.algorithm === 'gcra' || limit.algorithm === 'leaky_bucket' || (limit.algorithm === 'token_bucket' && limit.refill === 'greedy');
}

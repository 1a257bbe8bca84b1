import { isMerchantKeyed, merchantBucketKey, type MerchantSnapshot } from '#limiter';
import { bySlot } from './by-slot.js';
import type { RedisConnection } from './redis-connection.js';
import { BUCKET_PREFIX } from './redis-keys.js';
import { Script } from './scripts.js';

const script = new Script('preload-buckets');

/**
 * Creates the buckets of merchants before their first request, in one round trip. A bucket that is there is left as it
 * is, and what is created says no more than a missing one. Rules whose buckets depend on the request (by address, say) have none in advance.
 */
export async function preloadBuckets(
  redis: RedisConnection,
  snapshots: readonly MerchantSnapshot[],
  ttlMs: number,
): Promise<{ created: number; live: number }> {
  const keys = snapshots.flatMap(({ merchantId, rules }) =>
    rules
      .filter(isMerchantKeyed)
      .flatMap((rule) => rule.limits.map((limit) => BUCKET_PREFIX + merchantBucketKey(merchantId, rule.id, limit.id))),
  );
  const calls = bySlot(redis, keys, (key) => key).map((some) => script.run(redis, some, [String(ttlMs)]) as Promise<number>);
  const created = (await Promise.all(calls)).reduce((sum, each) => sum + each, 0);
  return { created, live: keys.length - created };
}

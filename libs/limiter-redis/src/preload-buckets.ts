import { isMerchantKeyed, merchantBucketKey, type MerchantSnapshot } from '#limiter';
import type { Redis } from 'ioredis';
import { BUCKET_PREFIX } from './redis-keys.js';
import { Script } from './scripts.js';

const script = new Script('preload-buckets');

/**
 * Creates the buckets of merchants before their first request, in one round trip. A bucket that is there is left as it
 * is, and what is created says no more than a missing one. Rules whose buckets depend on the request (by address, say) have none in advance.
 */
export async function preloadBuckets(
  redis: Redis,
  snapshots: readonly MerchantSnapshot[],
  ttlMs: number,
): Promise<{ created: number; live: number }> {
  const keys = snapshots.flatMap(({ merchantId, rules }) =>
    rules
      .filter(isMerchantKeyed)
      .flatMap((rule) => rule.limits.map((limit) => BUCKET_PREFIX + merchantBucketKey(merchantId, rule.id, limit.id))),
  );
  if (keys.length === 0) return { created: 0, live: 0 };
  const created = (await script.run(redis, keys, [String(ttlMs)])) as number;
  return { created, live: keys.length - created };
}

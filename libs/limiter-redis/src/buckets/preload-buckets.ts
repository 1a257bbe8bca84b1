import { isMerchantKeyed, merchantBucketKey, type MerchantSnapshot } from '#limiter';
import { bySlot } from '../connection/by-slot.js';
import type { RedisConnection } from '../connection/redis-connection.js';
import type { PackedArguments } from '../connection/packed-command.js';
import type { MerchantBatch } from '../rules/merchant-batch.js';
import { BUCKET_PREFIX } from '../redis-keys.js';
import { Script } from '../scripts.js';

const script = new Script('preload-buckets');

/** The buckets of a merchant that can be there before its first request. Those of rules that depend on the request (by address, say) cannot. */
export function bucketsInAdvance({ merchantId, rules }: MerchantSnapshot): string[] {
  return rules.filter(isMerchantKeyed).flatMap((rule) => rule.limits.map((limit) => bucketInAdvance(merchantId, rule.id, limit.id)));
}

/** The bucket of a limit of a rule that is keyed by the merchant alone. */
export function bucketInAdvance(merchantId: string, ruleId: string, limitId: number): string {
  return BUCKET_PREFIX + merchantBucketKey(merchantId, ruleId, limitId);
}

/** Creates the buckets of merchants before their first request: see `createBuckets`. */
export function preloadBuckets(
  redis: RedisConnection,
  snapshots: readonly MerchantSnapshot[],
  ttlMs: number,
): Promise<{ created: number; live: number }> {
  return createBuckets(redis, snapshots.flatMap(bucketsInAdvance), ttlMs);
}

/** Creates buckets in one round trip. A bucket that is there is left as it is, and what is created says no more than a missing one. */
export async function createBuckets(
  redis: RedisConnection,
  keys: readonly string[],
  ttlMs: number,
): Promise<{ created: number; live: number }> {
  const calls = bySlot(redis, keys, (key) => key).map((some) => script.run(redis, some, [String(ttlMs)]) as Promise<number>);
  const created = (await Promise.all(calls)).reduce((sum, each) => sum + each, 0);
  return { created, live: keys.length - created };
}

/** The same for the buckets of a batch, where all lie on one Redis. */
export async function createBucketsOf(redis: RedisConnection, batch: MerchantBatch, ttlMs: number): Promise<void> {
  const pack = (): PackedArguments | undefined => batch.bucketsWith([String(ttlMs)]);
  if (pack() !== undefined) await script.runPacked(redis, pack as () => PackedArguments);
}

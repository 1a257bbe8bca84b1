import { merchantRules, type BucketTake, type MerchantSnapshot } from '#limiter';
import type { RedisConnection } from '../connection/redis-connection.js';
import { Script } from '../scripts.js';
import { packTakes, TakeReply } from './take-call.js';

const script = new Script('take');

const TAKES_IN_A_CALL = 128;

/**
 * Looks at the live buckets of a merchant's edited limits, which carries them over. Any request would, but by then a key may have
 * expired that lived as long as the former numbers needed, and not as long as the present ones do. Buckets whose keys depend on the request
 * cannot be listed. Rejects with ioredis' error when Redis is away.
 */
export async function carryOverBuckets(
  redis: RedisConnection,
  { merchantId, rules, timeZone, overrides }: MerchantSnapshot,
): Promise<void> {
  const takes = merchantRules(merchantId, rules, [], { timeZone, overrides, time: { atMs: Date.now() } })
    .takes()
    .filter(({ bucket }) => bucket.previous.length > 0)
    .map((take) => ({ ...take, cost: 0 }));
  for (let i = 0; i < takes.length; i += TAKES_IN_A_CALL) await look(redis, takes.slice(i, i + TAKES_IN_A_CALL));
}

async function look(redis: RedisConnection, takes: readonly BucketTake[], nowMs = Date.now(), attempts = 2): Promise<void> {
  const requests = takes.map((take) => ({ takes: [take], holder: 0, spare: false, withFormer: true }));
  const reply = new TakeReply((await script.runPacked(redis, () => packTakes(requests, nowMs, 'of server'))) as number[]);
  const again = takes.filter((take) => reply.next([take]) === 'again');
  // Windows of a calendar by a clock that was wrong: now it is known what time it is there.
  if (again.length > 0 && attempts > 1) await look(redis, again, reply.atUs / 1000, attempts - 1);
}

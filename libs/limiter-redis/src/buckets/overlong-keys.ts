import type { Redis } from 'ioredis';
import { isCluster, type RedisConnection } from '../connection/redis-connection.js';

/**
 * Keys that nobody asks for by name once their time is over, and that have a time to live of a few days at most: usage, claims, and what was told of limits
 * (`tg:u:`, `tg:c:`, `tg:e:`), marks of retries, and ranks of keys (`tg:{...}:`). Buckets are not among them: a bucket may need years to fill.
 */
const PATTERNS = ['tg:[uce]:*', 'tg:{*}:*'];
const NAME = /^tg:(?:[uce]:|\{[^{}]*\}:)/;

/** None of them lives longer; marks of retries live for a week at most. */
export const LONGEST_LIFE_MS = 8 * 24 * 3_600_000;

/** Keys that one call looks at: it holds takes up for less than a millisecond. */
const KEYS_AT_ONCE = 500;

/**
 * Removes keys that live longer than they can have been meant to. Redis keeps the instant at which a key ends, so what was written while its clock was ten years ahead
 * lives for ten years after the clock was set right. Many short calls, one after the other. Rejects with ioredis' error when Redis is away: to start again does no harm.
 *
 * @returns how many were removed
 */
export async function removeOverlongKeys(redis: RedisConnection): Promise<number> {
  if (!isCluster(redis)) return removeFrom(redis);
  // One after the other, as the calls of one server.
  let removed = 0;
  for (const master of redis.nodes('master')) removed += await removeFrom(master);
  return removed;
}

async function removeFrom(redis: Redis): Promise<number> {
  let removed = 0;
  for (const pattern of PATTERNS) {
    let cursor = '0';
    do {
      const [next, keys] = await redis.scan(cursor, 'MATCH', pattern, 'COUNT', KEYS_AT_ONCE);
      cursor = next;
      const overlong = await overlongOf(
        redis,
        keys.filter((key) => NAME.test(key)),
      );
      for (const key of overlong) removed += await redis.unlink(key);
    } while (cursor !== '0');
  }
  return removed;
}

async function overlongOf(redis: Redis, keys: readonly string[]): Promise<string[]> {
  const lives = await Promise.all(keys.map((key) => redis.pttl(key)));
  return keys.filter((_, i) => lives[i]! > LONGEST_LIFE_MS);
}

/** rate-limiter-flexible, as its documentation sets it up. */
import { Redis } from 'ioredis';
// @ts-ignore: installed in this folder, and only for benchmarks.
import { RateLimiterMemory, RateLimiterRedis } from 'rate-limiter-flexible';

/**
 * @param {string} redisUrl
 * @param {string[]} keys
 * @returns {Promise<(key: number) => Promise<unknown>>}
 */
export async function flexibleTake(redisUrl, keys) {
  const storeClient = new Redis(redisUrl, { enableOfflineQueue: false });
  await new Promise((resolve) => storeClient.once('ready', resolve));
  const limiter = new RateLimiterRedis({ storeClient, points: 1_000_000_000, duration: 60 });
  return (key) => limiter.consume(keys[key] ?? '');
}

/** The same library's limiter in memory. @returns {(key: string) => Promise<unknown>} */
export function flexibleMemoryTake() {
  const limiter = new RateLimiterMemory({ points: 1_000_000_000, duration: 600 });
  return (key) => limiter.consume(key);
}

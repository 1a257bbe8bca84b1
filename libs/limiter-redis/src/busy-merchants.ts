import type { Redis } from 'ioredis';
import { BUSY_MERCHANTS_KEY } from './redis-keys.js';

/** What a gateway that starts reads in advance; one that is not in the list costs a read when it comes. */
export const MOST_BUSY_MERCHANTS = 1000;
const KEPT_SECONDS = 86_400;

/** Tells gateways that start later whose rules they will need first. Rejects with ioredis' error when Redis is away. */
export async function writeBusyMerchants(redis: Redis, merchantIds: readonly string[]): Promise<void> {
  if (merchantIds.length === 0) return;
  await redis.set(BUSY_MERCHANTS_KEY, JSON.stringify(merchantIds.slice(0, MOST_BUSY_MERCHANTS)), 'EX', KEPT_SECONDS);
}

/** None if nobody has told, or if what stands there is no such list: another version may have written it. */
export async function readBusyMerchants(redis: Redis): Promise<readonly string[]> {
  const text = await redis.get(BUSY_MERCHANTS_KEY);
  const list: unknown = text === null ? [] : parsed(text);
  return Array.isArray(list) ? list.filter((id): id is string => typeof id === 'string').slice(0, MOST_BUSY_MERCHANTS) : [];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

import { isMerchantId, MERCHANT_ID_MAX_LENGTH, UnreadableError } from '#limiter';
import type { RedisConnection } from '../connection/redis-connection.js';
import { BUSY_MERCHANTS_KEY } from '../redis-keys.js';
import { otherType, parsed, type OnUnreadable, type Parsed } from '../stored.js';

/** What a gateway that starts reads in advance; one that is not in the list costs a read when it comes. */
export const MOST_BUSY_MERCHANTS = 1000;
const KEPT_SECONDS = 86_400;

/** Tells gateways that start later whose rules they will need first. Rejects with ioredis' error when Redis is away. */
export async function writeBusyMerchants(redis: RedisConnection, merchantIds: readonly string[]): Promise<void> {
  if (merchantIds.length === 0) return;
  await redis.set(BUSY_MERCHANTS_KEY, JSON.stringify(merchantIds.slice(0, MOST_BUSY_MERCHANTS)), 'EX', KEPT_SECONDS);
}

/** None if nobody has told, or if what stands there is no such list: another version may have written it. */
export async function readBusyMerchants(redis: RedisConnection, onUnreadable: OnUnreadable = () => {}): Promise<readonly string[]> {
  const list = await redis
    .getrange(BUSY_MERCHANTS_KEY, 0, 3 * MOST_CHARACTERS)
    .then((text) => (text === '' ? NOBODY : parseBusyMerchants(text)), otherType);
  if ('value' in list) return list.value;
  onUnreadable({ kind: 'busy_merchants', ...list });
  return [];
}

const NOBODY = { value: [] };

/** Each character of an id may be written as an escape of six. */
const MOST_CHARACTERS = MOST_BUSY_MERCHANTS * (6 * MERCHANT_ID_MAX_LENGTH + 3);

/** Never throws. What is no merchant's id is left out. */
export function parseBusyMerchants(text: string): Parsed<readonly string[]> {
  return parsed(text, MOST_CHARACTERS, (list) => {
    if (!Array.isArray(list)) throw new UnreadableError('must be a list');
    return list.slice(0, MOST_BUSY_MERCHANTS).filter(isMerchantId);
  });
}

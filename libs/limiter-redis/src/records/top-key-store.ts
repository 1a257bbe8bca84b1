import type { RedisConnection } from '../connection/redis-connection.js';
import { topKeysKey } from '../redis-keys.js';
import { Script } from '../scripts.js';
import { otherType } from '../stored.js';
import { parseTopKey, TOP_KEY_RANKS, topKeyText, type TopKey, type TopKeyRank } from './top-key-format.js';
import { HOUR_MS, USAGE_KEPT_MS } from './usage-format.js';

const script = new Script('add-top-keys');

/** Until the last minute of the hour has been kept for a day, and a bit. */
const TTL_SECONDS = (USAGE_KEPT_MS + 2 * HOUR_MS) / 1000;
/** Keys in one call: it holds takes up for less than a millisecond. */
const KEYS_AT_ONCE = 100;
/** As many as the script lets a rank have. */
const MOST_RANKED = 1000;

/** How often a key came since it was last told. */
export interface TopKeyCount extends TopKey {
  readonly rank: TopKeyRank;
  readonly count: number;
}

export interface RankedKey extends TopKey {
  readonly count: number;
}

export interface RankedKeys {
  /** By how often they came, those that came most first. */
  readonly keys: readonly RankedKey[];
  /** Each may have come less often by this many: those whose places they took. 0: all are exact, as far as gateways looked. */
  readonly overestimatedBy: number;
}

/** Which keys of rules ask most and are refused most, in Redis. All methods reject with ioredis' error when Redis is away. */
export class RedisTopKeyStore {
  constructor(private readonly redis: RedisConnection) {}

  /** Adds to the hour that it is at the server. A few short calls, one after the other, so that takes of other gateways come in between. */
  async add(counts: readonly TopKeyCount[]): Promise<void> {
    const [seconds] = await this.redis.time();
    const hour = Math.floor((Number(seconds) * 1000) / HOUR_MS);
    const keys = TOP_KEY_RANKS.map((rank) => topKeysKey(rank, hour));
    for (let from = 0; from < counts.length; from += KEYS_AT_ONCE)
      await script.run(this.redis, keys, [String(TTL_SECONDS), ...counts.slice(from, from + KEYS_AT_ONCE).flatMap(argumentsOf)]);
  }

  /**
   * Those that came most from the hour of one moment to that of another.
   *
   * @param merchants only theirs; null: everybody's
   */
  async ranked(rank: TopKeyRank, fromMs: number, untilMs: number, merchants: readonly string[] | null): Promise<RankedKeys> {
    const counts = new Map<string, number>();
    let overestimatedBy = 0;
    for (let hour = Math.floor(fromMs / HOUR_MS); hour * HOUR_MS < untilMs; hour++) {
      const members = await this.members(topKeysKey(rank, hour));
      for (const [member, count] of members) counts.set(member, (counts.get(member) ?? 0) + count);
      if (members.length >= MOST_RANKED) overestimatedBy += members[0]![1];
    }
    const keys = [...counts].flatMap(([member, count]): RankedKey[] => {
      const found = parseTopKey(member);
      if (!('value' in found) || (merchants !== null && !merchants.includes(found.value.merchantId))) return [];
      return [{ ...found.value, count }];
    });
    return { keys: keys.sort((a, b) => b.count - a.count), overestimatedBy };
  }

  /** Of one hour, with their counts, those that came least first. */
  private async members(key: string): Promise<[string, number][]> {
    const flat = await this.redis.zrange(key, 0, String(MOST_RANKED - 1), 'WITHSCORES').catch(noneOfOtherType);
    const pairs = Array.from({ length: flat.length / 2 }, (_, i): [string, number] => [flat[2 * i]!, Number(flat[2 * i + 1])]);
    return pairs.filter(([, count]) => Number.isSafeInteger(count) && count > 0);
  }
}

/** What somebody else has put at the key of a rank. */
function noneOfOtherType(error: unknown): string[] {
  otherType(error);
  return [];
}

function argumentsOf({ rank, count, ...key }: TopKeyCount): string[] {
  const text = topKeyText(key);
  return text === undefined ? [] : [String(TOP_KEY_RANKS.indexOf(rank) + 1), text, String(count)];
}

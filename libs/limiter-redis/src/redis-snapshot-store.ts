import type { DefaultRulesSnapshot, MerchantSnapshot } from '#limiter';
import type { Redis } from 'ioredis';
import { CHANGES_CHANNEL, CHANGE_COUNTERS_KEY, DEFAULT_RULES_KEY, changeCounterOf, snapshotKey } from './redis-keys.js';
import { Script } from './scripts.js';

const script = new Script('write-snapshots');
const VERSION_DIGITS = 16;

/** Merchants' rules in Redis, as the gateways read them. All methods reject with ioredis' error when Redis is away. */
export class RedisSnapshotStore {
  constructor(private readonly redis: Redis) {}

  /** Null if Redis has none, which says nothing about the merchant. */
  async read(merchantId: string): Promise<MerchantSnapshot | null> {
    const text = await this.redis.get(snapshotKey(merchantId));
    return text === null ? null : decoded<MerchantSnapshot>(text);
  }

  async readDefaultRules(): Promise<DefaultRulesSnapshot | null> {
    const text = await this.redis.get(DEFAULT_RULES_KEY);
    return text === null ? null : decoded<DefaultRulesSnapshot>(text);
  }

  /** One round trip. Counts those written and those that Redis had in a newer version. */
  async write(snapshots: readonly MerchantSnapshot[], ttlMs: number): Promise<{ written: number; newer: number }> {
    if (snapshots.length === 0) return { written: 0, newer: 0 };
    const keys = snapshots.map(({ merchantId }) => snapshotKey(merchantId));
    const [written, newer] = (await script.run(this.redis, keys, [String(ttlMs), ...snapshots.map(encoded)])) as [number, number];
    return { written, newer };
  }

  /** True if it was newer than what was there. Default rules do not expire: without them too much would pass. */
  async writeDefaultRules(snapshot: DefaultRulesSnapshot): Promise<boolean> {
    const [written] = (await script.run(this.redis, [DEFAULT_RULES_KEY], ['0', encoded(snapshot)])) as [number, number];
    return written === 1;
  }

  /**
   * Tells the gateways that the rules of these merchants changed (null: the default rules). The counters are the truth
   * that every gateway polls, the message only makes it quick, so that a lost message costs time and nothing else.
   */
  async announce(merchantIds: readonly (string | null)[]): Promise<void> {
    if (merchantIds.length === 0) return;
    const pipeline = this.redis.pipeline();
    for (const id of merchantIds) {
      pipeline.hincrby(CHANGE_COUNTERS_KEY, changeCounterOf(id), 1);
      pipeline.publish(CHANGES_CHANNEL, JSON.stringify(id));
    }
    for (const [error] of (await pipeline.exec()) ?? []) if (error) throw error;
  }
}

/** The version stands in front in fixed width, so that a script compares it without reading the rest. */
function encoded(snapshot: MerchantSnapshot | DefaultRulesSnapshot): string {
  return String(snapshot.version).padStart(VERSION_DIGITS, '0') + JSON.stringify(snapshot);
}

function decoded<T>(text: string): T {
  return JSON.parse(text.slice(VERSION_DIGITS)) as T;
}

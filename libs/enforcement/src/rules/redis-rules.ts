import type { DefaultRulesSnapshot, MerchantSnapshot, PlanSnapshot } from '#limiter';
import type { Found } from '#limiter-redis';
import type { ColdReader } from './rule-cache.js';
import { RulesUnavailableError, type SnapshotSource } from './rule-source.js';

export interface RedisRulesOptions {
  readonly snapshots: Pick<SnapshotSource, 'find' | 'findDefaultRules' | 'findPlan'>;
  /** False while Redis does not answer: then it is not even asked. */
  readonly redisAvailable: () => boolean;
}

/**
 * Reads rules where nothing stands behind Redis: an id that Redis does not know belongs to no merchant. It never writes. Rejects with RulesUnavailableError
 * where Redis is away, or lacks what a preloader always writes: a Redis that lost its data must not look like one from which everything was deleted.
 */
export class RedisRules implements ColdReader {
  constructor(private readonly options: RedisRulesOptions) {}

  async read(merchantId: string, { known = false }: { known?: boolean } = {}): Promise<MerchantSnapshot | null> {
    const snapshot = await this.found((source) => source.find(merchantId), 'the rules of the merchant');
    if (snapshot !== null) return snapshot.exists ? snapshot : null;
    // What was deleted leaves a mark for a while. This one has just gone.
    if (known) throw new RulesUnavailableError('Redis has lost the rules of the merchant');
    return null;
  }

  async readDefaultRules(): Promise<DefaultRulesSnapshot> {
    const snapshot = await this.found((source) => source.findDefaultRules(), 'the default rules');
    if (snapshot === null) throw new RulesUnavailableError('no preloader has written the default rules to Redis');
    return snapshot;
  }

  async readPlan(name: string): Promise<PlanSnapshot | null> {
    const snapshot = await this.found((source) => source.findPlan(name), 'the rules of the plan');
    if (snapshot === null) throw new RulesUnavailableError('Redis has lost the rules of the plan');
    return snapshot.exists ? snapshot : null;
  }

  private async found<T>(find: (source: RedisRulesOptions['snapshots']) => Promise<Found<T>>, what: string): Promise<T | null> {
    if (!this.options.redisAvailable()) throw new RulesUnavailableError(`${what} cannot be read: Redis does not answer`);
    const { value, unreadable } = await find(this.options.snapshots).catch((error: unknown) => {
      throw new RulesUnavailableError(`${what} cannot be read: ${(error as Error).message}`, { cause: error });
    });
    if (unreadable !== undefined) throw new RulesUnavailableError(`${what} cannot be read: what Redis has is ${unreadable.reason}`);
    return value;
  }
}

/** Where no rules are stored anywhere: each id is a merchant without rules of its own. */
export const NO_STORED_RULES: ColdReader = {
  read: (merchantId) => Promise.resolve({ merchantId, version: 0, exists: true, timeZone: 'Etc/UTC', rules: [] }),
  readDefaultRules: () => Promise.resolve({ version: 0, rules: [] }),
  readPlan: () => Promise.resolve(null),
};

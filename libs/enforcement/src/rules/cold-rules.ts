import type { DefaultRulesSnapshot, MerchantSnapshot, PlanSnapshot } from '#limiter';
import type { Found, UnreadableText } from '#limiter-redis';
import { withDeadline } from '#waiting';
import { Gate } from './gate.js';
import type { Hedge } from './hedge.js';
import type { LookupAllowance } from './lookup-allowance.js';
import { RulesUnavailableError, TOO_MANY_UNKNOWN_IDS, TooManyUnknownError, type RuleSource, type SnapshotSource } from './rule-source.js';

export interface ColdRulesOptions {
  snapshots: SnapshotSource;
  ruleSource: RuleSource;
  /** False while Redis does not answer: then it is not even asked. */
  redisAvailable: () => boolean;
  /** When the rule source is asked although Redis may still answer. */
  hedge: Hedge;
  /** For ids that Redis does not know. */
  unknownIds: Pick<LookupAllowance, 'allows' | 'take' | 'giveBack'>;
  /** Reads of the rule source at once, and waiting for one; more are refused, so that a flood of unknown ids cannot sink it. */
  maxReads?: number;
  maxWaiting?: number;
  ruleSourceDeadlineMs?: number;
  /** Time to live of snapshots that are written back to Redis for the other enforcers. */
  ttlMs?: number;
}

/** Reads of the rule source, unless told otherwise. */
export const READS_AT_ONCE = 8;

/** Redis has not said anything yet. */
const NOTHING: Found<never> = { value: null };

export interface ReadOptions {
  /** Ignores what Redis has if it is not newer than this version, because a bucket was written under newer rules. */
  newerThan?: number | undefined;
  /** The address of the client that asks. */
  peer?: string | undefined;
}

/**
 * Reads rules that are not in this process: once from Redis, and if Redis has none that can be read or is away, once from the rule source. While Redis is
 * silent, the rule source is asked beside it, and whoever answers first is believed: otherwise a request that meets a frozen Redis waits for the one and then for
 * the other. Rejects with RulesUnavailableError when neither answers in time, or the rule source may not be asked.
 */
export class ColdRules {
  private readonly gate: Gate;

  constructor(private readonly options: ColdRulesOptions) {
    this.gate = new Gate(options.maxReads ?? READS_AT_ONCE, options.maxWaiting ?? 1000);
  }

  /** The merchant's rules, or null if there is no such merchant. */
  async read(merchantId: string, { newerThan = -1, peer = '' }: ReadOptions = {}): Promise<MerchantSnapshot | null> {
    const { first, second } = await this.options.hedge.sooner(
      this.fromRedis((source) => source.find(merchantId)),
      () => this.lookUp(merchantId, peer),
    );
    const { value, unreadable } = first ?? NOTHING;
    if (value && value.version > newerThan) return existing(value);
    // Something stands in Redis under its name, even if it cannot be read: such a merchant was created once.
    const isKnown = value !== null || unreadable !== undefined;
    const stored = await (isKnown ? this.fromRuleSource((source) => source.snapshot(merchantId)) : second());
    if (stored) this.tellOthers(stored, unreadable);
    return existing(stored);
  }

  async readDefaultRules(newerThan = -1): Promise<DefaultRulesSnapshot> {
    const { first, second } = await this.options.hedge.sooner(
      this.fromRedis((source) => source.findDefaultRules()),
      () => this.fromRuleSource((source) => source.defaultRules()),
    );
    const { value, unreadable } = first ?? NOTHING;
    if (value && value.version > newerThan) return value;
    const stored = await second();
    if (unreadable) this.options.snapshots.mendDefaultRules(stored, unreadable).catch(() => {});
    return stored;
  }

  /**
   * The rules of a plan, or null if there is none of this name. If Redis says that the plan was deleted, PostgreSQL is asked all the same, because a merchant
   * still names the plan: one that has just left it, or one that joins it again.
   */
  async readPlan(name: string, newerThan = -1): Promise<PlanSnapshot | null> {
    const { first, second } = await this.options.hedge.sooner(
      this.fromRedis((source) => source.findPlan(name)),
      () => this.fromRuleSource((source) => source.plan(name)),
    );
    const { value, unreadable } = first ?? NOTHING;
    if (value?.exists && value.version > newerThan) return value;
    const stored = await second();
    if (!stored?.exists) return null;
    const { snapshots } = this.options;
    (unreadable ? snapshots.mendPlan(stored, unreadable) : snapshots.writePlan(stored)).catch(() => {});
    return stored;
  }

  /** An id that Redis does not know: nearly always one of no merchant, and there are more of those than can be looked up. */
  private lookUp(merchantId: string, peer: string): Promise<MerchantSnapshot | null> {
    const { unknownIds } = this.options;
    if (!unknownIds.allows(peer)) return Promise.reject(TOO_MANY_UNKNOWN_IDS);
    return this.fromRuleSource(async (source) => {
      // It may have waited, and others may have spent the rest of the allowance meanwhile.
      if (!unknownIds.take(peer)) throw TOO_MANY_UNKNOWN_IDS;
      const snapshot = await source.snapshot(merchantId);
      if (snapshot?.exists) unknownIds.giveBack(peer);
      return snapshot;
    });
  }

  private tellOthers(snapshot: MerchantSnapshot, instead: UnreadableText | undefined): void {
    const { snapshots, ttlMs = 3_600_000 } = this.options;
    const written = instead ? snapshots.mend(snapshot, instead, ttlMs) : snapshots.write([snapshot], ttlMs);
    written.catch(() => {});
  }

  private async fromRedis<T>(find: (source: SnapshotSource) => Promise<Found<T>>): Promise<Found<T>> {
    if (!this.options.redisAvailable()) return NOTHING;
    try {
      return await find(this.options.snapshots);
    } catch {
      return NOTHING;
    }
  }

  private async fromRuleSource<T>(read: (source: RuleSource) => Promise<T>): Promise<T> {
    try {
      return await this.gate.run(() => withDeadline(read(this.options.ruleSource), this.options.ruleSourceDeadlineMs ?? 2000));
    } catch (error) {
      if (error instanceof TooManyUnknownError) throw error;
      throw new RulesUnavailableError(`rules could not be read: ${(error as Error).message}`, { cause: error });
    }
  }
}

function existing(snapshot: MerchantSnapshot | null): MerchantSnapshot | null {
  return snapshot?.exists ? snapshot : null;
}

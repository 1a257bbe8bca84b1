import type { DefaultRulesSnapshot, MerchantSnapshot } from '#limiter';
import { withDeadline } from '#limiter-redis';
import { Gate } from './gate.js';
import { RulesUnavailableError, type RuleDatabase, type SnapshotSource } from './rule-source.js';

export interface ColdRulesOptions {
  snapshots: SnapshotSource & { write(snapshots: readonly MerchantSnapshot[], ttlMs: number): Promise<unknown> };
  database: RuleDatabase;
  /** False while Redis does not answer: then it is not even asked. */
  redisAvailable: () => boolean;
  /** Reads of PostgreSQL at once, and waiting for one; more are refused, so that a flood of unknown ids cannot sink it. */
  maxReads?: number;
  maxWaiting?: number;
  redisDeadlineMs: number;
  databaseDeadlineMs?: number;
  /** For snapshots written back to Redis for the other gateways. */
  ttlMs?: number;
}

/**
 * Rules that are not in this process: one read of Redis, and if Redis has none or is away, one of PostgreSQL. Rejects
 * with RulesUnavailableError when neither answers in time.
 */
export class ColdRules {
  private readonly gate: Gate;

  constructor(private readonly options: ColdRulesOptions) {
    this.gate = new Gate(options.maxReads ?? 8, options.maxWaiting ?? 1000);
  }

  /**
   * The merchant's rules, or null if there is no such merchant. `newerThan` passes over what Redis has if it is not
   * newer than that version: someone has seen newer rules at work.
   */
  async read(merchantId: string, newerThan = -1): Promise<MerchantSnapshot | null> {
    const snapshot = await this.fromRedis((source) => source.read(merchantId));
    if (snapshot && snapshot.version > newerThan) return existing(snapshot);
    const stored = await this.fromDatabase((database) => database.snapshot(merchantId));
    if (stored) this.options.snapshots.write([stored], this.options.ttlMs ?? 3_600_000).catch(() => {});
    return existing(stored);
  }

  async readDefaultRules(newerThan = -1): Promise<DefaultRulesSnapshot> {
    const snapshot = await this.fromRedis((source) => source.readDefaultRules());
    if (snapshot && snapshot.version > newerThan) return snapshot;
    return this.fromDatabase((database) => database.defaultRules());
  }

  private async fromRedis<T>(read: (source: SnapshotSource) => Promise<T | null>): Promise<T | null> {
    if (!this.options.redisAvailable()) return null;
    try {
      return await withDeadline(read(this.options.snapshots), this.options.redisDeadlineMs);
    } catch {
      return null;
    }
  }

  private async fromDatabase<T>(read: (database: RuleDatabase) => Promise<T>): Promise<T> {
    try {
      return await this.gate.run(() => withDeadline(read(this.options.database), this.options.databaseDeadlineMs ?? 2000));
    } catch (error) {
      throw new RulesUnavailableError(`rules could not be read: ${(error as Error).message}`, { cause: error });
    }
  }
}

function existing(snapshot: MerchantSnapshot | null): MerchantSnapshot | null {
  return snapshot?.exists ? snapshot : null;
}

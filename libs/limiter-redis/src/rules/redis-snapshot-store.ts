import type { DefaultRulesSnapshot, MerchantSnapshot, PlanSnapshot } from '#limiter';
import { PerMaster } from '../connection/per-master.js';
import { bySlot } from '../connection/by-slot.js';
import { isCluster, type RedisConnection } from '../connection/redis-connection.js';
import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { MerchantBatch, TextOfMerchant } from './merchant-batch.js';
import { GatheredReads, type GatheredReadsOptions } from './gathered-reads.js';
import {
  CHANGES_CHANNEL,
  CHANGE_COUNTERS_KEY,
  DEFAULT_RULES_KEY,
  PLANS_COUNTER,
  changeCounterOf,
  planKey,
  snapshotKey,
} from '../redis-keys.js';
import { Script } from '../scripts.js';
import {
  compactSnapshotText,
  MOST_SNAPSHOT_CHARACTERS,
  parseDefaultRules,
  parseMerchantSnapshot,
  parsePlanSnapshot,
  snapshotText,
} from './snapshot-format.js';
import { otherType, type OnUnreadable, type Parsed, type StoredKind, type UnreadableReason } from '../stored.js';

const writeScript = new Script('write-snapshots');
const mendScript = new Script('mend-snapshot');

/** UTF-8 has at most three bytes for a UTF-16 code unit. */
const MOST_BYTES = 3 * MOST_SNAPSHOT_CHARACTERS;

/** Long enough for every job about the plan that is still on its way. */
const DELETED_PLAN_LIVES_MS = 86_400_000;

/** What stands in Redis: a value, or something that cannot be read, or neither. */
export interface Found<T> {
  readonly value: T | null;
  readonly unreadable?: UnreadableText;
}

/** Something that stands where a snapshot should be. */
export interface UnreadableText {
  readonly reason: UnreadableReason;
  /** The hash by which a script recognises it; empty if it is no text. */
  readonly sha1: string;
}

/** Snapshots that were written, and those that Redis had in a newer version. */
interface Counts {
  readonly written: number;
  readonly newer: number;
}

const NO_COUNTS: Counts = { written: 0, newer: 0 };

/** `only`: the usual one, because the store has no choice. With a choice the same version in the other one is written anew. */
export type SnapshotFormat = 'usual' | 'compact' | 'only';

export interface SnapshotStoreOptions extends GatheredReadsOptions {
  /**
   * Asked at each write of merchants: whether all who read snapshots read compact ones. What stands there in the same version is then written anew if its format is the other one. Without it
   * they are written in the format that everybody reads, and the same version stays as it is.
   */
  readonly compact?: () => Promise<boolean>;
}

export function textIn(format: SnapshotFormat, snapshot: MerchantSnapshot): string {
  return format === 'compact' ? compactSnapshotText(snapshot) : snapshotText(snapshot);
}

/** Merchants' rules in Redis, as the gateways read them. All methods reject with ioredis' error when Redis is away. */
export class RedisSnapshotStore {
  /** By which a key is read. In a cluster, those of a master that is frozen hold nobody else's up. */
  private readonly readsOf: (key: string) => GatheredReads;

  constructor(
    private readonly redis: RedisConnection,
    private readonly onUnreadable: OnUnreadable = () => {},
    private readonly options: SnapshotStoreOptions = {},
  ) {
    // What stands there may be of any size.
    const makeReads = (): GatheredReads => new GatheredReads(redis, MOST_BYTES, options);
    if (isCluster(redis)) {
      const ofMasters = new PerMaster(redis, makeReads);
      this.readsOf = (key) => ofMasters.of(key);
    } else {
      const all = makeReads();
      this.readsOf = () => all;
    }
  }

  /** Null if Redis has none that can be read, which says nothing about the merchant. */
  async read(merchantId: string): Promise<MerchantSnapshot | null> {
    return (await this.find(merchantId)).value;
  }

  async readDefaultRules(): Promise<DefaultRulesSnapshot | null> {
    return (await this.findDefaultRules()).value;
  }

  find(merchantId: string): Promise<Found<MerchantSnapshot>> {
    return this.findAt(snapshotKey(merchantId), 'snapshot', (text) => parseMerchantSnapshot(text, merchantId));
  }

  findDefaultRules(): Promise<Found<DefaultRulesSnapshot>> {
    return this.findAt(DEFAULT_RULES_KEY, 'default_rules', parseDefaultRules);
  }

  findPlan(plan: string): Promise<Found<PlanSnapshot>> {
    return this.findAt(planKey(plan), 'plan', (text) => parsePlanSnapshot(text, plan));
  }

  /** One round trip, and one to ask for the format if there is a choice. Counts those written and those that Redis had in a newer version. */
  async write(snapshots: readonly MerchantSnapshot[], ttlMs: number): Promise<Counts> {
    if (snapshots.length === 0) return NO_COUNTS;
    const format = await this.format();
    const texts = snapshots.map((snapshot) => ({ merchantId: snapshot.merchantId, text: textIn(format, snapshot) }));
    return this.writeAs(texts, format, ttlMs);
  }

  /** The format in which merchants are to be written now. */
  async format(): Promise<SnapshotFormat> {
    const compact = await this.options.compact?.();
    return compact === undefined ? 'only' : compact ? 'compact' : 'usual';
  }

  /** Writes snapshots that are texts of this format already. */
  async writeAs(texts: readonly TextOfMerchant[], format: SnapshotFormat, ttlMs: number): Promise<Counts> {
    const calls = bySlot(this.redis, texts, ({ merchantId }) => snapshotKey(merchantId)).map((some) => {
      const keys = some.map(({ merchantId }) => snapshotKey(merchantId));
      const own = some.map(({ text }) => text);
      return this.writeTexts(keys, own, ttlMs, { reformat: format !== 'only' });
    });
    return (await Promise.all(calls)).reduce(
      (sum, { written, newer }) => ({ written: sum.written + written, newer: sum.newer + newer }),
      NO_COUNTS,
    );
  }

  /** Writes a batch in one call, where all lie on one Redis. */
  async writeBatch(batch: MerchantBatch, format: SnapshotFormat, ttlMs: number): Promise<Counts> {
    const [written, newer] = (await writeScript.runPacked(this.redis, () =>
      batch.snapshots([String(ttlMs), format === 'only' ? '0' : '1']),
    )) as [number, number];
    return { written, newer };
  }

  /** True if it was newer than what was there. Default rules do not expire: without them too much would pass. */
  async writeDefaultRules(snapshot: DefaultRulesSnapshot): Promise<boolean> {
    const { written } = await this.writeTexts([DEFAULT_RULES_KEY], [snapshotText(snapshot)], 0);
    return written === 1;
  }

  /** True if it was newer than what was there. Like default rules, a plan does not expire; what is left of a deleted one does. */
  async writePlan(snapshot: PlanSnapshot): Promise<boolean> {
    const ttlMs = snapshot.exists ? 0 : DELETED_PLAN_LIVES_MS;
    const { written } = await this.writeTexts([planKey(snapshot.plan)], [snapshotText(snapshot)], ttlMs);
    return written === 1;
  }

  /** Writes a snapshot in place of what could not be read, if that still stands there. True if it did. */
  mend(snapshot: MerchantSnapshot, instead: UnreadableText, ttlMs: number): Promise<boolean> {
    return this.mendAt(
      snapshotKey(snapshot.merchantId),
      snapshotText(snapshot),
      (text) => parseMerchantSnapshot(text, snapshot.merchantId),
      instead,
      ttlMs,
    );
  }

  mendDefaultRules(snapshot: DefaultRulesSnapshot, instead: UnreadableText): Promise<boolean> {
    return this.mendAt(DEFAULT_RULES_KEY, snapshotText(snapshot), parseDefaultRules, instead, 0);
  }

  mendPlan(snapshot: PlanSnapshot, instead: UnreadableText): Promise<boolean> {
    return this.mendAt(planKey(snapshot.plan), snapshotText(snapshot), (text) => parsePlanSnapshot(text, snapshot.plan), instead, 0);
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

  /** The same for plans. Gateways that know no plans ignore the message and the counter. */
  async announcePlans(plans: readonly string[]): Promise<void> {
    if (plans.length === 0) return;
    const pipeline = this.redis.pipeline().hincrby(CHANGE_COUNTERS_KEY, PLANS_COUNTER, 1);
    for (const plan of plans) pipeline.publish(CHANGES_CHANNEL, JSON.stringify({ plan }));
    for (const [error] of (await pipeline.exec()) ?? []) if (error) throw error;
  }

  private async writeTexts(keys: readonly string[], texts: readonly string[], ttlMs: number, { reformat = false } = {}): Promise<Counts> {
    const answer = await writeScript.run(this.redis, [...keys], [String(ttlMs), reformat ? '1' : '0', ...texts]);
    const [written, newer] = answer as [number, number];
    return { written, newer };
  }

  private async findAt<T>(key: string, kind: StoredKind, parse: (text: string) => Parsed<T>): Promise<Found<T>> {
    const bytes = await this.readsOf(key).read(key).catch(otherType);
    if (Buffer.isBuffer(bytes) && bytes.length === 0) return { value: null };
    const found = !Buffer.isBuffer(bytes)
      ? bytes
      : isUtf8(bytes)
        ? parse(bytes.toString())
        : ({ reason: 'malformed', detail: 'not UTF-8' } as const);
    if ('value' in found) return found;
    this.onUnreadable({ kind, ...found });
    return {
      value: null,
      unreadable: { reason: found.reason, sha1: Buffer.isBuffer(bytes) ? createHash('sha1').update(bytes).digest('hex') : '' },
    };
  }

  /** What a newer version has written is not ours to replace, and what is not readable either mends nothing. */
  private async mendAt(
    key: string,
    text: string,
    parse: (text: string) => Parsed<unknown>,
    { reason, sha1 }: UnreadableText,
    ttlMs: number,
  ): Promise<boolean> {
    if (reason === 'newer_format' || !('value' in parse(text))) return false;
    return (await mendScript.run(this.redis, [key], [String(ttlMs), text, sha1, String(MOST_BYTES)])) === 1;
  }
}

import {
  phaseAt,
  timeOfBucket,
  timeOfStore,
  type DefaultRulesSnapshot,
  type MakeTake,
  type MerchantSnapshot,
  type NewerRule,
  type OverrideTime,
  type Phase,
  type PlanSnapshot,
} from '#limiter';
import { FRESH, isDue, NOW, retryAt } from './freshness.js';
import { bytesOf, compileRules, phaseOf, type KnownRules, type SharedSnapshots } from './known-rules.js';
import { PlanCache, type HeldPlan } from './plan-cache.js';
import { RulesUnavailableError } from './rule-source.js';
import { SieveCache, type CacheEntry } from './sieve-cache.js';

export type { KnownRules };

interface Entry extends CacheEntry {
  readonly merchantId: string;
  /** Null for an id that belongs to no merchant. */
  snapshot: MerchantSnapshot | null;
  rules: KnownRules;
  /** The default rules that `rules` were made with. */
  defaults: DefaultRulesSnapshot;
  /** The plan of the merchant, if it has one, and the rules of it that `rules` were made with. */
  plan: HeldPlan | undefined;
  planRules: PlanSnapshot | undefined;
  /** The takes of `rules` that `bytes` counts. */
  takesCounted: number;
  readAgainAtMs: number;
  /** For which time `rules` were made; undefined if the merchant never had an override: then it is all the same. */
  phase: Phase | undefined;
}

export interface ColdReader {
  read(merchantId: string, options?: { newerThan?: number | undefined; peer?: string | undefined }): Promise<MerchantSnapshot | null>;
  readDefaultRules(newerThan?: number): Promise<DefaultRulesSnapshot>;
  /** Null: there is no such plan. */
  readPlan(name: string, newerThan?: number): Promise<PlanSnapshot | null>;
}

export interface RuleCacheOptions {
  cold: ColdReader;
  /** Unknown merchants get the default rules instead of a refusal. */
  defaultForUnknown: boolean;
  /** What merchants may take in memory together, by estimate; those that are asked for seldom go first. */
  maxBytes?: number;
  /** The same for unknown ids, which never push out a merchant. */
  maxUnknownBytes?: number;
  /** The same for the rules of plans, which merchants share. */
  maxPlanBytes?: number;
  /** Merchants that are read at once. */
  maxLoading?: number;
  /** Of the store that the limiter asks: see `merchantRules`. */
  makeTake?: MakeTake;
  /** Told of rules that were read and are written in a newer version of the language. */
  onNewerRule?: (rule: NewerRule) => void;
  /** Milliseconds that never step back. */
  now?: () => number;
  /** What time it is at the store of the buckets, as far as that is known here: by it overrides end. */
  storeNow?: () => number;
}

/** Merchants that have been read and whose first request has not been decided yet. */
const MOST_RECENT = 64;

/**
 * The compiled rules of the merchants in use. A change marks a merchant stale, and the next request reads it again; if
 * that fails, the old rules go on, because an outage must not change what a merchant may do.
 */
export class RuleCache {
  private readonly merchants: SieveCache<Entry>;
  private readonly unknown: SieveCache<Entry>;
  private readonly plans: PlanCache;
  private readonly loading = new Map<string, Promise<KnownRules>>();
  /** Merchants that changed while they were read for the first time; each of them is in `loading`. */
  private readonly missed = new Set<string>();
  /** Merchants that came just now: what their first requests make ready is counted when the next one comes. */
  private recent: Entry[] = [];
  private readonly maxLoading: number;
  private readonly now: () => number;
  private readonly storeNow: () => number;
  private defaults: DefaultRulesSnapshot | undefined;
  private readDefaultsAtMs = NOW;
  private loadingDefaults: Promise<DefaultRulesSnapshot> | undefined;

  constructor(private readonly options: RuleCacheOptions) {
    const { maxBytes = 128 * 2 ** 20 } = options;
    this.merchants = new SieveCache(maxBytes);
    this.unknown = new SieveCache(options.maxUnknownBytes ?? maxBytes / 8);
    this.maxLoading = options.maxLoading ?? 5000;
    this.now = options.now ?? (() => performance.now());
    this.storeNow = options.storeNow ?? Date.now;
    this.plans = new PlanCache({
      read: (name, newerThan) => options.cold.readPlan(name, newerThan),
      maxBytes: options.maxPlanBytes ?? maxBytes / 4,
      now: this.now,
      onAdopted: (plan) => this.tellNewer(plan),
      onDropped: (plan) => this.forgetMerchantsOf(plan),
    });
  }

  /** Merchants that exist. */
  get size(): number {
    return this.merchants.size;
  }

  get unknownSize(): number {
    return this.unknown.size;
  }

  get planSize(): number {
    return this.plans.size;
  }

  /** What all of them take in memory, by estimate. */
  get bytes(): number {
    return this.merchants.bytes + this.unknown.bytes + this.plans.bytes;
  }

  /** Whether a merchant of this id exists and its rules are in this process. */
  has(merchantId: string): boolean {
    return this.merchants.peek(merchantId) !== undefined;
  }

  get ready(): boolean {
    return this.defaults !== undefined;
  }

  /**
   * The merchants that came first and are still here, as far as they exist. Those are mostly the ones that ask most often,
   * and to know it costs no request a thing.
   */
  firstMerchants(count: number): string[] {
    const ids: string[] = [];
    for (const merchantId of this.merchants.keys()) {
      if (ids.length >= count) break;
      ids.push(merchantId);
    }
    return ids;
  }

  /** The rules if they are at hand and fresh: the way of nearly every request. */
  get(merchantId: string): KnownRules | undefined {
    const entry = this.merchants.get(merchantId) ?? this.unknown.get(merchantId);
    if (entry === undefined || this.isDue(entry.readAgainAtMs) || this.isDue(this.readDefaultsAtMs)) return undefined;
    const { plan, phase } = entry;
    if (plan !== undefined && !this.plans.isFresh(plan)) return undefined;
    const isOther = entry.defaults !== this.defaults || entry.planRules !== plan?.snapshot;
    if (isOther || (phase !== undefined && phase.untilMs <= this.storeNow())) this.recompile(entry);
    const { rules } = entry;
    if (rules !== 'unknown_merchant' && rules.takesMade !== entry.takesCounted) this.count(entry);
    return rules;
  }

  /** The rules at hand, even if outdated: better than none while neither Redis nor the rule source answers. */
  lastKnown(merchantId: string): KnownRules | undefined {
    return this.entryOf(merchantId)?.rules;
  }

  /**
   * Reads what `get` did not have; requests for the same merchant share one read. Rejects with RulesUnavailableError.
   *
   * @param peer the address of the client that asks
   */
  load(merchantId: string, peer?: string): Promise<KnownRules> {
    let loading = this.loading.get(merchantId);
    if (loading === undefined) {
      if (this.loading.size >= this.maxLoading) return Promise.reject(new RulesUnavailableError('too many merchants are being read'));
      loading = this.read(merchantId, peer).finally(() => {
        this.loading.delete(merchantId);
        this.missed.delete(merchantId);
      });
      this.loading.set(merchantId, loading);
    }
    return loading;
  }

  /**
   * A bucket was written under newer rules than those of `get`, or their numbers do not hold now: those of the present, read again, as far as
   * there are any.
   *
   * @param asked the rules that were asked by, and when it was, by the clock of the store; 0 if that is not known
   */
  async reload(merchantId: string, peer?: string, asked?: { readonly rules: KnownRules; readonly atUs: number }): Promise<KnownRules> {
    const { atUs = 0 } = asked ?? {};
    const entry = this.entryOf(merchantId);
    // Another request has learned it meanwhile: what the bucket says is not said of these rules.
    if (entry?.phase !== undefined && asked !== undefined && entry.rules !== asked.rules) return entry.rules;
    const phase = entry?.phase;
    const time = phase && atUs > 0 ? timeOfStore(phase, atUs / 1000) : undefined;
    if (entry && time) return this.recompile(entry, time);
    const known = [entry?.snapshot?.version, entry?.planRules?.version, this.defaults?.version];
    const rules = await this.readNewer(merchantId, entry, peer);
    const read = this.entryOf(merchantId);
    const found = [read?.snapshot?.version, read?.planRules?.version, this.defaults?.version];
    const isNewer = known.some((version, i) => version !== found[i]);
    if (isNewer || read?.phase === undefined || atUs === 0) return rules;
    // The bucket knows more than all rules there are: that an override has ended.
    const ended = timeOfBucket(read.phase);
    return ended ? this.recompile(read, ended) : rules;
  }

  private async readNewer(merchantId: string, entry: Entry | undefined, peer: string | undefined): Promise<KnownRules> {
    const [snapshot, defaults] = await Promise.all([
      // An unknown id has default rules only: nothing else of it could be newer.
      entry?.snapshot === null ? null : this.options.cold.read(merchantId, { newerThan: entry?.snapshot.version, peer }),
      this.options.cold.readDefaultRules(this.defaults?.version),
    ]);
    this.adopt(defaults);
    const plan = snapshot?.plan === undefined ? undefined : await this.plans.reload(snapshot.plan);
    return plan === null ? this.adoptMerchant(merchantId, snapshot, peer) : this.put(merchantId, snapshot, plan);
  }

  changed(merchantId: string | null): void {
    if (merchantId === null) this.readDefaultsAtMs = NOW;
    else this.markStale(merchantId);
  }

  /** @param plan null: any of them may have changed */
  plansChanged(plan: string | null): void {
    this.plans.changed(plan);
  }

  changedSome(concerns: (merchantId: string) => boolean, defaults: boolean): void {
    if (defaults) this.readDefaultsAtMs = NOW;
    for (const merchants of [this.merchants.keys(), this.unknown.keys(), this.loading.keys()]) {
      for (const merchantId of merchants) if (concerns(merchantId)) this.markStale(merchantId);
    }
  }

  /** Reads the default rules if they are missing or outdated. */
  async loadDefaults(): Promise<DefaultRulesSnapshot> {
    if (this.defaults && !this.isDue(this.readDefaultsAtMs)) return this.defaults;
    this.loadingDefaults ??= this.readDefaults().finally(() => (this.loadingDefaults = undefined));
    return this.loadingDefaults;
  }

  private isDue(atMs: number): boolean {
    return isDue(atMs, this.now);
  }

  private get later(): number {
    return retryAt(this.now);
  }

  private entryOf(merchantId: string): Entry | undefined {
    return this.merchants.peek(merchantId) ?? this.unknown.peek(merchantId);
  }

  private async readDefaults(): Promise<DefaultRulesSnapshot> {
    // Before the read: a change that comes during it makes them stale again.
    this.readDefaultsAtMs = FRESH;
    try {
      return this.adopt(await this.options.cold.readDefaultRules());
    } catch (error) {
      if (this.readDefaultsAtMs === FRESH) this.readDefaultsAtMs = this.defaults ? this.later : NOW;
      if (this.defaults) return this.defaults;
      throw error;
    }
  }

  private adopt(defaults: DefaultRulesSnapshot): DefaultRulesSnapshot {
    if (this.defaults === undefined || defaults.version > this.defaults.version) {
      this.defaults = defaults;
      this.tellNewer(defaults);
    }
    return this.defaults;
  }

  private async read(merchantId: string, peer: string | undefined): Promise<KnownRules> {
    await this.loadDefaults();
    const entry = this.entryOf(merchantId);
    try {
      if (entry && !this.isDue(entry.readAgainAtMs)) {
        const known = await this.withFreshPlan(entry);
        if (known !== undefined) return known;
      }
      if (entry) entry.readAgainAtMs = FRESH;
      return await this.adoptMerchant(merchantId, await this.options.cold.read(merchantId, { peer }), peer);
    } catch (error) {
      if (!entry) throw error;
      if (entry.readAgainAtMs === FRESH) entry.readAgainAtMs = this.later;
      return entry.rules;
    }
  }

  /** Undefined if there is no such plan any more: then the merchant has another one, or none. */
  private async withFreshPlan(entry: Entry): Promise<KnownRules | undefined> {
    if (entry.plan !== undefined) {
      const plan = await this.plans.load(entry.plan.name);
      if (plan === null) return undefined;
      entry.plan = plan;
    }
    return this.get(entry.merchantId) ?? entry.rules;
  }

  /**
   * Puts a merchant with its plan. Without the plan nothing of it is used, because the rest alone would limit less. A plan that does not exist
   * has no merchants: then what was read of the merchant is older than that, and it is read again.
   */
  private async adoptMerchant(merchantId: string, snapshot: MerchantSnapshot | null, peer: string | undefined): Promise<KnownRules> {
    if (snapshot?.plan === undefined) return this.put(merchantId, snapshot, undefined);
    const plan = await this.plans.load(snapshot.plan);
    if (plan !== null) return this.put(merchantId, snapshot, plan);
    const newer = await this.options.cold.read(merchantId, { newerThan: snapshot.version, peer });
    const newerPlan = newer?.plan === undefined ? undefined : await this.plans.load(newer.plan);
    if (newerPlan === null) throw new RulesUnavailableError('the plan of the merchant cannot be found');
    return this.put(merchantId, newer, newerPlan);
  }

  private put(merchantId: string, read: MerchantSnapshot | null, planRead: HeldPlan | undefined): KnownRules {
    const defaults = this.defaults!;
    const previous = this.entryOf(merchantId);
    // A read that was overtaken by a newer one brings nothing.
    const isOvertaken = previous?.snapshot && read && previous.snapshot.version > read.version;
    const [newest, plan] = isOvertaken ? [previous.snapshot, previous.plan] : [read, planRead];
    const planRules = plan?.snapshot;
    const atMs = newest?.overrides === undefined ? 0 : this.storeNow();
    const rules = this.compile(merchantId, newest, { defaults, plan: planRules }, { atMs });
    if (newest) this.tellNewer(newest);
    // Stale again if a change came while this was read.
    const isStale = this.missed.delete(merchantId) || previous?.readAgainAtMs === NOW;
    const [held, other] = newest === null ? [this.unknown, this.merchants] : [this.merchants, this.unknown];
    other.delete(merchantId);
    this.countRecent();
    const entry = {
      merchantId,
      snapshot: newest,
      rules,
      defaults,
      plan,
      planRules,
      takesCounted: 0,
      readAgainAtMs: isStale ? NOW : FRESH,
      phase: newest?.overrides && phaseAt(newest.overrides, atMs),
      used: false,
      bytes: bytesOf(merchantId, newest, rules),
    };
    held.set(merchantId, entry);
    if (rules !== 'unknown_merchant') this.recent.push(entry);
    return rules;
  }

  private recompile(entry: Entry, time: OverrideTime = { atMs: entry.phase === undefined ? 0 : this.storeNow() }): KnownRules {
    const { snapshot } = entry;
    entry.defaults = this.defaults!;
    entry.planRules = entry.plan?.snapshot;
    entry.rules = this.compile(entry.merchantId, snapshot, { defaults: entry.defaults, plan: entry.planRules }, time);
    if (snapshot?.overrides !== undefined) entry.phase = phaseOf(snapshot.overrides, time);
    this.count(entry);
    return entry.rules;
  }

  private compile(merchantId: string, snapshot: MerchantSnapshot | null, shared: SharedSnapshots, time: OverrideTime): KnownRules {
    return compileRules(merchantId, snapshot, shared, time, this.options);
  }

  private tellNewer({ newerRules = [] }: MerchantSnapshot | PlanSnapshot | DefaultRulesSnapshot): void {
    for (const rule of newerRules) this.options.onNewerRule?.(rule);
  }

  /** Most unknown ids come once, so `get` never counts what their request has made ready. */
  private countRecent(): void {
    const notAsked: Entry[] = [];
    for (const entry of this.recent) {
      if (this.entryOf(entry.merchantId) !== entry) continue;
      if (entry.rules === 'unknown_merchant' || entry.rules.takesMade > 0) this.count(entry);
      else notAsked.push(entry);
    }
    this.recent = notAsked.slice(-MOST_RECENT);
  }

  /** Requests have made more of the rules ready. */
  private count(entry: Entry): void {
    const { merchantId, snapshot, rules } = entry;
    entry.takesCounted = rules === 'unknown_merchant' ? 0 : rules.takesMade;
    (snapshot === null ? this.unknown : this.merchants).resize(entry, bytesOf(merchantId, snapshot, rules));
  }

  /** They hold what was compiled of the plan. It happens when plans take more memory than they may, or one is deleted. */
  private forgetMerchantsOf(plan: HeldPlan): void {
    for (const [merchantId, entry] of this.merchants) if (entry.plan === plan) this.merchants.delete(merchantId);
  }

  private markStale(merchantId: string): void {
    const entry = this.entryOf(merchantId);
    if (entry) entry.readAgainAtMs = NOW;
    // A first read under way may miss the change: the next request reads again.
    else if (this.loading.has(merchantId)) this.missed.add(merchantId);
  }
}

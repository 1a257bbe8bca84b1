import {
  phaseAt,
  timeOfBucket,
  timeOfStore,
  type DefaultRulesSnapshot,
  type MakeTake,
  type MerchantSnapshot,
  type NewerRule,
  type OverrideTime,
  type PlanSnapshot,
  type Rule,
  type Switch,
} from '#limiter';
import { InFlightMap } from '#waiting';
import { DefaultRules } from './default-rules.js';
import { FRESH, isDue, NOW, retryAt } from './freshness.js';
import { HeldMerchants, type HeldMerchant } from './held-merchants.js';
import { compileRules, phaseOf, type KnownRules, type SharedSnapshots } from './known-rules.js';
import { PlanCache, type HeldPlan } from './plan-cache.js';
import { RulesUnavailableError } from './rule-source.js';

export type { KnownRules };

export interface ColdReader {
  /** @param options.known whether the rules of this merchant are in memory: it existed not long ago */
  read(
    merchantId: string,
    options?: { newerThan?: number | undefined; peer?: string | undefined; known?: boolean },
  ): Promise<MerchantSnapshot | null>;
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

/**
 * The compiled rules of the merchants in use. A change marks a merchant stale, and the next request reads it again; if
 * that fails, the old rules go on, because an outage must not change what a merchant may do.
 */
export class RuleCache {
  private readonly held: HeldMerchants;
  private readonly plans: PlanCache;
  private readonly defaults: DefaultRules;
  private readonly loading = new InFlightMap<Promise<KnownRules>>();
  /** Merchants that changed while they were read for the first time; each of them is in `loading`. */
  private readonly missed = new Set<string>();
  private readonly maxLoading: number;
  private readonly now: () => number;
  private readonly storeNow: () => number;

  constructor(private readonly options: RuleCacheOptions) {
    const { maxBytes = 128 * 2 ** 20 } = options;
    this.held = new HeldMerchants(maxBytes, options.maxUnknownBytes ?? maxBytes / 8);
    this.maxLoading = options.maxLoading ?? 5000;
    this.now = options.now ?? (() => performance.now());
    this.storeNow = options.storeNow ?? Date.now;
    this.plans = new PlanCache({
      read: (name, newerThan) => options.cold.readPlan(name, newerThan),
      maxBytes: options.maxPlanBytes ?? maxBytes / 4,
      now: this.now,
      onAdopted: (plan) => this.tellNewer(plan),
      onDropped: (plan) => this.held.forgetMerchantsOf(plan),
    });
    this.defaults = new DefaultRules({
      read: (newerThan) => options.cold.readDefaultRules(newerThan),
      now: this.now,
      storeNow: this.storeNow,
      onAdopted: (defaults) => this.tellNewer(defaults),
    });
  }

  /** Merchants that exist. */
  get size(): number {
    return this.held.size;
  }

  get unknownSize(): number {
    return this.held.unknownSize;
  }

  get planSize(): number {
    return this.plans.size;
  }

  /** What all of them take in memory, by estimate. */
  get bytes(): number {
    return this.held.bytes + this.plans.bytes;
  }

  /** Whether a merchant of this id exists and its rules are in this process. */
  has(merchantId: string): boolean {
    return this.held.has(merchantId);
  }

  get ready(): boolean {
    return this.defaults.current !== undefined;
  }

  /**
   * The merchants that came first and are still here, as far as they exist. Those are mostly the ones that ask most often,
   * and to know it costs no request a thing.
   */
  firstMerchants(count: number): string[] {
    return this.held.first(count);
  }

  /** The rules if they are at hand and fresh: the way of nearly every request. */
  get(merchantId: string): KnownRules | undefined {
    const entry = this.held.get(merchantId);
    if (entry === undefined || isDue(entry.readAgainAtMs, this.now) || !this.defaults.isFresh) return undefined;
    const { plan, phase } = entry;
    if (plan !== undefined && !this.plans.isFresh(plan)) return undefined;
    const isOther = entry.defaults !== this.defaults.current || entry.planRules !== plan?.snapshot;
    if (isOther || (phase !== undefined && phase.untilMs <= this.storeNow())) this.recompile(entry);
    const { rules } = entry;
    if (rules !== 'unknown_merchant' && rules.takesMade !== entry.takesCounted) this.held.count(entry);
    return rules;
  }

  /** The rules at hand, even if outdated: better than none while neither Redis nor the rule source answers. */
  lastKnown(merchantId: string): KnownRules | undefined {
    return this.held.peek(merchantId)?.rules;
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
    const entry = this.held.peek(merchantId);
    // Another request has learned it meanwhile: what the bucket says is not said of these rules.
    if (entry?.phase !== undefined && asked !== undefined && entry.rules !== asked.rules) return entry.rules;
    const phase = entry?.phase;
    const time = phase && atUs > 0 ? timeOfStore(phase, atUs / 1000) : undefined;
    if (entry && time) return this.recompile(entry, time);
    const known = [entry?.snapshot?.version, entry?.planRules?.version, this.defaults.current?.version];
    const rules = await this.readNewer(merchantId, entry, peer);
    const read = this.held.peek(merchantId);
    const found = [read?.snapshot?.version, read?.planRules?.version, this.defaults.current?.version];
    const isNewer = known.some((version, i) => version !== found[i]);
    if (isNewer || read?.phase === undefined || atUs === 0) return rules;
    // The bucket knows more than all rules there are: that an override has ended.
    const ended = timeOfBucket(read.phase);
    return ended ? this.recompile(read, ended) : rules;
  }

  private async readNewer(merchantId: string, entry: HeldMerchant | undefined, peer: string | undefined): Promise<KnownRules> {
    const [snapshot, defaults] = await Promise.all([
      // An unknown id has default rules only: nothing else of it could be newer.
      entry?.snapshot === null
        ? null
        : this.options.cold.read(merchantId, { newerThan: entry?.snapshot.version, peer, known: entry !== undefined }),
      this.defaults.readNewer(),
    ]);
    this.defaults.adopt(defaults);
    const plan = snapshot?.plan === undefined ? undefined : await this.plans.reload(snapshot.plan);
    return plan === null ? this.adoptMerchant(merchantId, snapshot, peer) : this.put(merchantId, snapshot, plan);
  }

  changed(merchantId: string | null): void {
    if (merchantId === null) this.defaults.changed();
    else this.markStale(merchantId);
  }

  /** @param plan null: any of them may have changed */
  plansChanged(plan: string | null): void {
    this.plans.changed(plan);
  }

  changedSome(concerns: (merchantId: string) => boolean, defaults: boolean): void {
    if (defaults) this.defaults.changed();
    for (const merchants of [this.held.ids(), this.loading.names()]) {
      for (const merchantId of merchants) if (concerns(merchantId)) this.markStale(merchantId);
    }
  }

  /** What is switched on now. */
  get switches(): readonly Switch[] {
    return this.defaults.current?.switches ?? [];
  }

  /** Switches of this process alone, beside those that all have; they replace those of before. */
  switchHere(switches: readonly Switch[]): void {
    this.defaults.switchHere(switches);
  }

  /** Rules of this process alone, beside the default rules; they replace those of before. */
  rulesHere(rules: readonly Rule[]): void {
    this.defaults.rulesHere(rules);
  }

  /** Reads the default rules if they are missing or outdated. */
  loadDefaults(): Promise<DefaultRulesSnapshot> {
    return this.defaults.load();
  }

  private async read(merchantId: string, peer: string | undefined): Promise<KnownRules> {
    const defaults = this.loadDefaults();
    const entry = this.held.peek(merchantId);
    try {
      if (entry && !isDue(entry.readAgainAtMs, this.now)) {
        await defaults;
        const known = await this.withFreshPlan(entry);
        if (known !== undefined) return known;
      }
      if (entry) entry.readAgainAtMs = FRESH;
      // At once: while Redis is silent, each would wait for it, and then for PostgreSQL.
      const known = entry !== undefined && entry.snapshot !== null;
      const [snapshot] = await Promise.all([this.options.cold.read(merchantId, { peer, known }), defaults]);
      return await this.adoptMerchant(merchantId, snapshot, peer);
    } catch (error) {
      if (!entry) throw error;
      if (entry.readAgainAtMs === FRESH) entry.readAgainAtMs = retryAt(this.now);
      return entry.rules;
    }
  }

  /** Undefined if there is no such plan any more: then the merchant has another one, or none. */
  private async withFreshPlan(entry: HeldMerchant): Promise<KnownRules | undefined> {
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
    const defaults = this.defaults.current!;
    const previous = this.held.peek(merchantId);
    // A read that was overtaken by a newer one brings nothing.
    const isOvertaken = previous?.snapshot && read && previous.snapshot.version > read.version;
    const [newest, plan] = isOvertaken ? [previous.snapshot, previous.plan] : [read, planRead];
    const planRules = plan?.snapshot;
    const atMs = newest?.overrides === undefined ? 0 : this.storeNow();
    const rules = this.compile(merchantId, newest, { defaults, plan: planRules }, { atMs });
    if (newest) this.tellNewer(newest);
    // Stale again if a change came while this was read.
    const isStale = this.missed.delete(merchantId) || previous?.readAgainAtMs === NOW;
    this.held.put({
      merchantId,
      snapshot: newest,
      rules,
      defaults,
      plan,
      planRules,
      readAgainAtMs: isStale ? NOW : FRESH,
      phase: newest?.overrides && phaseAt(newest.overrides, atMs),
    });
    return rules;
  }

  private recompile(entry: HeldMerchant, time: OverrideTime = { atMs: entry.phase === undefined ? 0 : this.storeNow() }): KnownRules {
    const { snapshot } = entry;
    entry.defaults = this.defaults.current!;
    entry.planRules = entry.plan?.snapshot;
    entry.rules = this.compile(entry.merchantId, snapshot, { defaults: entry.defaults, plan: entry.planRules }, time);
    if (snapshot?.overrides !== undefined) entry.phase = phaseOf(snapshot.overrides, time);
    this.held.count(entry);
    return entry.rules;
  }

  private compile(merchantId: string, snapshot: MerchantSnapshot | null, shared: SharedSnapshots, time: OverrideTime): KnownRules {
    return compileRules(merchantId, snapshot, shared, time, this.options);
  }

  private tellNewer({ newerRules = [] }: MerchantSnapshot | PlanSnapshot | DefaultRulesSnapshot): void {
    for (const rule of newerRules) this.options.onNewerRule?.(rule);
  }

  private markStale(merchantId: string): void {
    const entry = this.held.peek(merchantId);
    if (entry) entry.readAgainAtMs = NOW;
    // A first read under way may miss the change: the next request reads again.
    else if (this.loading.has(merchantId)) this.missed.add(merchantId);
  }
}

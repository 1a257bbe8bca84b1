import { merchantRules, type DefaultRulesSnapshot, type MerchantRules, type MerchantSnapshot } from '#limiter';

/** What a request needs to know of its merchant's rules. */
export type KnownRules = MerchantRules | 'unknown_merchant';

interface Entry {
  snapshot: MerchantSnapshot | null;
  rules: KnownRules;
  /** The default rules that `rules` were compiled with. */
  defaults: DefaultRulesSnapshot;
  stale: boolean;
}

export interface ColdReader {
  read(merchantId: string, newerThan?: number): Promise<MerchantSnapshot | null>;
  readDefaultRules(newerThan?: number): Promise<DefaultRulesSnapshot>;
}

export interface RuleCacheOptions {
  cold: ColdReader;
  /** Unknown merchants get the default rules instead of a refusal. */
  defaultForUnknown: boolean;
  /** Merchants held at once; the one that came first goes first. */
  maxMerchants?: number;
}

/**
 * The compiled rules of the merchants in use. A change marks a merchant stale, and the next request reads it again; if
 * that fails, the old rules go on, because an outage must not change what a merchant may do.
 */
export class RuleCache {
  private readonly entries = new Map<string, Entry>();
  private readonly loading = new Map<string, Promise<KnownRules>>();
  /** Merchants that changed while they were read for the first time. */
  private readonly missed = new Set<string>();
  private readonly maxMerchants: number;
  private defaults: DefaultRulesSnapshot | undefined;
  private defaultsStale = true;
  private loadingDefaults: Promise<DefaultRulesSnapshot> | undefined;

  constructor(private readonly options: RuleCacheOptions) {
    this.maxMerchants = options.maxMerchants ?? 100_000;
  }

  get size(): number {
    return this.entries.size;
  }

  get ready(): boolean {
    return this.defaults !== undefined;
  }

  /**
   * The merchants that came first, as far as they exist. Those are mostly the ones that ask most often, and to know it costs
   * no request a thing.
   */
  firstMerchants(count: number): string[] {
    const ids: string[] = [];
    for (const [merchantId, { rules }] of this.entries) {
      if (ids.length >= count) break;
      if (rules !== 'unknown_merchant') ids.push(merchantId);
    }
    return ids;
  }

  /** The rules if they are at hand and fresh: the way of nearly every request. */
  get(merchantId: string): KnownRules | undefined {
    const entry = this.entries.get(merchantId);
    if (entry === undefined || entry.stale || this.defaultsStale) return undefined;
    if (entry.defaults !== this.defaults) this.recompile(merchantId, entry);
    return entry.rules;
  }

  /** The rules at hand, be they outdated: better than none when nobody can be asked. */
  lastKnown(merchantId: string): KnownRules | undefined {
    return this.entries.get(merchantId)?.rules;
  }

  /** Reads what `get` did not have; requests for the same merchant share one read. Rejects with RulesUnavailableError. */
  load(merchantId: string): Promise<KnownRules> {
    let loading = this.loading.get(merchantId);
    if (loading === undefined) {
      loading = this.read(merchantId).finally(() => {
        this.loading.delete(merchantId);
        this.missed.delete(merchantId);
      });
      this.loading.set(merchantId, loading);
    }
    return loading;
  }

  /** Someone has seen newer rules at work than those of `get`: reads until it has newer ones, as far as there are any. */
  async reload(merchantId: string): Promise<KnownRules> {
    const entry = this.entries.get(merchantId);
    const [snapshot, defaults] = await Promise.all([
      this.options.cold.read(merchantId, entry?.snapshot?.version),
      this.options.cold.readDefaultRules(this.defaults?.version),
    ]);
    this.adopt(defaults);
    return this.put(merchantId, snapshot);
  }

  changed(merchantId: string | null): void {
    if (merchantId === null) this.defaultsStale = true;
    else this.markStale(merchantId);
  }

  changedSome(concerns: (merchantId: string) => boolean, defaults: boolean): void {
    if (defaults) this.defaultsStale = true;
    for (const merchantId of this.entries.keys()) if (concerns(merchantId)) this.markStale(merchantId);
  }

  /** Reads the default rules if they are missing or outdated. */
  async loadDefaults(): Promise<DefaultRulesSnapshot> {
    if (this.defaults && !this.defaultsStale) return this.defaults;
    this.loadingDefaults ??= this.readDefaults().finally(() => (this.loadingDefaults = undefined));
    return this.loadingDefaults;
  }

  private async readDefaults(): Promise<DefaultRulesSnapshot> {
    // Before the read: a change that comes during it makes them stale again.
    this.defaultsStale = false;
    try {
      return this.adopt(await this.options.cold.readDefaultRules());
    } catch (error) {
      if (this.defaults) return this.defaults;
      this.defaultsStale = true;
      throw error;
    }
  }

  private adopt(defaults: DefaultRulesSnapshot): DefaultRulesSnapshot {
    if (this.defaults === undefined || defaults.version > this.defaults.version) this.defaults = defaults;
    return this.defaults;
  }

  private async read(merchantId: string): Promise<KnownRules> {
    await this.loadDefaults();
    const entry = this.entries.get(merchantId);
    if (entry && !entry.stale) return this.get(merchantId) ?? entry.rules;
    if (entry) entry.stale = false;
    try {
      return this.put(merchantId, await this.options.cold.read(merchantId));
    } catch (error) {
      if (!entry) throw error;
      return entry.rules;
    }
  }

  private put(merchantId: string, snapshot: MerchantSnapshot | null): KnownRules {
    const defaults = this.defaults!;
    const previous = this.entries.get(merchantId);
    // A read that was overtaken by a newer one brings nothing.
    const newest = previous?.snapshot && snapshot && previous.snapshot.version > snapshot.version ? previous.snapshot : snapshot;
    const rules = this.compile(merchantId, newest, defaults);
    if (!previous) this.makeRoom();
    // Stale again if a change came while this was read.
    const stale = this.missed.delete(merchantId) || (previous?.stale ?? false);
    this.entries.set(merchantId, { snapshot: newest, rules, defaults, stale });
    return rules;
  }

  private recompile(merchantId: string, entry: Entry): void {
    entry.defaults = this.defaults!;
    entry.rules = this.compile(merchantId, entry.snapshot, entry.defaults);
  }

  private compile(merchantId: string, snapshot: MerchantSnapshot | null, defaults: DefaultRulesSnapshot): KnownRules {
    if (snapshot === null && !this.options.defaultForUnknown) return 'unknown_merchant';
    return merchantRules(merchantId, snapshot?.rules ?? [], defaults.rules, snapshot?.timeZone);
  }

  private markStale(merchantId: string): void {
    const entry = this.entries.get(merchantId);
    if (entry) entry.stale = true;
    // A first read under way may miss the change: whatever it brings is read again by the next request.
    else if (this.loading.has(merchantId)) this.missed.add(merchantId);
  }

  /** The oldest entry goes. Entries are not reordered at each use: that would cost every request, to spare a rare read. */
  private makeRoom(): void {
    if (this.entries.size < this.maxMerchants) return;
    const oldest = this.entries.keys().next();
    if (!oldest.done) this.entries.delete(oldest.value);
  }
}

import { isOn, type DefaultRulesSnapshot, type Rule, type Switch } from '#limiter';
import { FRESH, isDue, NOW, retryAt } from './freshness.js';

export interface DefaultRulesOptions {
  /** Rejects with RulesUnavailableError. */
  readonly read: (newerThan?: number) => Promise<DefaultRulesSnapshot>;
  readonly now: () => number;
  /** What time it is at the store of the buckets: by it switches end. Milliseconds since 1970. */
  readonly storeNow: () => number;
  /** They are used from now on. */
  readonly onAdopted: (defaults: DefaultRulesSnapshot) => void;
}

/**
 * The default rules, which all merchants share, and the switches that are on. A change marks them stale, and the next request reads them again; if that
 * fails, the old ones go on.
 */
export class DefaultRules {
  private snapshot: DefaultRulesSnapshot | undefined;
  /** The snapshot with the rules of this process, and the switches that are on now. */
  private effective: DefaultRulesSnapshot | undefined;
  /** When the next switch ends. */
  private nextEndMs = Infinity;
  private ofThisProcess: readonly Switch[] = [];
  private rulesOfThisProcess: readonly Rule[] = [];
  private readAgainAtMs = NOW;
  private loading: Promise<DefaultRulesSnapshot> | undefined;

  constructor(private readonly options: DefaultRulesOptions) {}

  /** Those at hand, even if outdated, the same object while nothing of them changes; undefined until they have been read once. */
  get current(): DefaultRulesSnapshot | undefined {
    if (this.nextEndMs !== Infinity && this.nextEndMs <= this.options.storeNow()) this.applySwitches();
    return this.effective;
  }

  /** Switches of this process alone, beside those that all have. */
  switchHere(switches: readonly Switch[]): void {
    this.ofThisProcess = switches;
    this.applySwitches();
  }

  /** Rules of this process alone, beside those that all have. Their ids are of no stored rule. */
  rulesHere(rules: readonly Rule[]): void {
    this.rulesOfThisProcess = rules;
    this.applySwitches();
  }

  get isFresh(): boolean {
    return !isDue(this.readAgainAtMs, this.options.now);
  }

  changed(): void {
    this.readAgainAtMs = NOW;
  }

  /** Reads them if they are missing or outdated; requests share one read. Rejects if nothing is at hand either. */
  async load(): Promise<DefaultRulesSnapshot> {
    if (this.snapshot && this.isFresh) return this.snapshot;
    this.loading ??= this.read().finally(() => (this.loading = undefined));
    return this.loading;
  }

  /** Reads newer ones, as far as there are any. They are not used before `adopt`. */
  readNewer(): Promise<DefaultRulesSnapshot> {
    return this.options.read(this.snapshot?.version);
  }

  /** Uses them, unless newer ones are at hand. */
  adopt(defaults: DefaultRulesSnapshot): DefaultRulesSnapshot {
    if (this.snapshot === undefined || defaults.version > this.snapshot.version) {
      this.snapshot = defaults;
      this.applySwitches();
      this.options.onAdopted(defaults);
    }
    return this.snapshot;
  }

  private applySwitches(): void {
    const { snapshot } = this;
    if (snapshot === undefined) return;
    const nowMs = this.options.storeNow();
    const switches = [...(snapshot.switches ?? []), ...this.ofThisProcess].filter((each) => isOn(each, nowMs));
    this.nextEndMs = Math.min(...switches.map(({ untilMs }) => untilMs ?? Infinity));
    const here = this.rulesOfThisProcess;
    this.effective = { ...snapshot, rules: here.length === 0 ? snapshot.rules : [...snapshot.rules, ...here], switches };
  }

  private async read(): Promise<DefaultRulesSnapshot> {
    // Before the read: a change that comes during it makes them stale again.
    this.readAgainAtMs = FRESH;
    try {
      return this.adopt(await this.options.read());
    } catch (error) {
      if (this.readAgainAtMs === FRESH) this.readAgainAtMs = this.snapshot ? retryAt(this.options.now) : NOW;
      if (this.snapshot) return this.snapshot;
      throw error;
    }
  }
}

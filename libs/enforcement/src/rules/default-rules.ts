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
 * The default rules, which all merchants share, and the switches that are on. When they change they are read again at once, because nearly every request needs them:
 * the next one does not wait for that, unless it comes before. If that fails, the old ones go on.
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
  /** How often they have changed. */
  private changes = 0;

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
    this.changes++;
    this.readAgainAtMs = NOW;
    this.readIfChanged();
  }

  /** Reads them if they are missing or outdated; requests share one read. Rejects if nothing is at hand either. */
  async load(): Promise<DefaultRulesSnapshot> {
    if (this.snapshot && this.isFresh) return this.snapshot;
    this.loading ??= this.read().finally(() => {
      this.loading = undefined;
      this.readIfChanged();
    });
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

  /** One read at a time, and never for nothing. Until there are some, whoever wants them asks. */
  private readIfChanged(): void {
    if (this.readAgainAtMs === NOW && this.snapshot !== undefined && this.loading === undefined) void this.load();
  }

  private async read(): Promise<DefaultRulesSnapshot> {
    const { changes } = this;
    // What has changed, all requests wait for. When what failed is tried again, the old ones go on.
    if (this.readAgainAtMs !== NOW) this.readAgainAtMs = FRESH;
    let next = FRESH;
    try {
      return this.adopt(await this.options.read());
    } catch (error) {
      next = this.snapshot ? retryAt(this.options.now) : NOW;
      if (this.snapshot) return this.snapshot;
      throw error;
    } finally {
      // A change that came during the read may have been missed.
      if (this.changes === changes) this.readAgainAtMs = next;
    }
  }
}

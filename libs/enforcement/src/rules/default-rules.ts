import type { DefaultRulesSnapshot } from '#limiter';
import { FRESH, isDue, NOW, retryAt } from './freshness.js';

export interface DefaultRulesOptions {
  /** Rejects with RulesUnavailableError. */
  readonly read: (newerThan?: number) => Promise<DefaultRulesSnapshot>;
  readonly now: () => number;
  /** They are used from now on. */
  readonly onAdopted: (defaults: DefaultRulesSnapshot) => void;
}

/** The default rules, which all merchants share. A change marks them stale, and the next request reads them again; if that fails, the old ones go on. */
export class DefaultRules {
  private snapshot: DefaultRulesSnapshot | undefined;
  private readAgainAtMs = NOW;
  private loading: Promise<DefaultRulesSnapshot> | undefined;

  constructor(private readonly options: DefaultRulesOptions) {}

  /** Those at hand, even if outdated; undefined until they have been read once. */
  get current(): DefaultRulesSnapshot | undefined {
    return this.snapshot;
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
      this.options.onAdopted(defaults);
    }
    return this.snapshot;
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

import { SieveCache, type CacheEntry, type PlanSnapshot } from '#limiter';
import { FRESH, isDue, NOW, retryAt } from './freshness.js';
import { bytesOfPlan } from './rule-memory.js';

/** A plan that is at hand. Its merchants refer to this one object, so that an edit is one write here, however many they are. */
export interface HeldPlan extends CacheEntry {
  readonly name: string;
  snapshot: PlanSnapshot;
  readAgainAtMs: number;
}

export interface PlanCacheOptions {
  /** Null: there is no such plan. Rejects with RulesUnavailableError. */
  readonly read: (name: string, newerThan?: number) => Promise<PlanSnapshot | null>;
  readonly maxBytes: number;
  readonly now: () => number;
  /** Rules of a plan are used from now on. */
  readonly onAdopted: (plan: PlanSnapshot) => void;
  /** A plan is held no longer; whoever refers to it has to let go of it, or its memory stays. */
  readonly onDropped: (plan: HeldPlan) => void;
}

/**
 * The plans of the merchants in use, each read once for all of them. A change marks a plan stale, and the next request of any of its
 * merchants reads it again; if that fails, the old rules go on.
 */
export class PlanCache {
  private readonly plans: SieveCache<HeldPlan>;
  private readonly loading = new Map<string, Promise<HeldPlan | null>>();
  /** Plans that changed while they were read for the first time; each of them is in `loading`. */
  private readonly missed = new Set<string>();

  constructor(private readonly options: PlanCacheOptions) {
    this.plans = new SieveCache(options.maxBytes, (plan) => this.drop(plan));
  }

  get size(): number {
    return this.plans.size;
  }

  /** What they take in memory, by estimate. */
  get bytes(): number {
    return this.plans.bytes;
  }

  /** Whether a merchant may go by it as it is. Costs no look-up: nearly every request of a merchant with a plan asks this. */
  isFresh(plan: HeldPlan): boolean {
    if (!plan.used) plan.used = true;
    return plan.readAgainAtMs === FRESH || !isDue(plan.readAgainAtMs, this.options.now);
  }

  /** The plan, or null if there is none of this name; requests for the same plan share one read. Rejects with RulesUnavailableError if nothing is at hand either. */
  load(name: string): Promise<HeldPlan | null> {
    const held = this.plans.get(name);
    if (held && this.isFresh(held)) return Promise.resolve(held);
    return this.reading(name, () => this.read(name));
  }

  /** A bucket was written under newer rules than those at hand: reads newer ones, as far as there are any. */
  reload(name: string): Promise<HeldPlan | null> {
    return this.reading(name, async () => this.put(name, await this.options.read(name, this.plans.peek(name)?.snapshot.version)));
  }

  /** @param name null: any of them may have changed */
  changed(name: string | null): void {
    for (const each of name === null ? [...this.plans.keys(), ...this.loading.keys()] : [name]) {
      const held = this.plans.peek(each);
      if (held) held.readAgainAtMs = NOW;
      // A first read under way may miss the change: the next request reads again.
      else if (this.loading.has(each)) this.missed.add(each);
    }
  }

  private reading(name: string, read: () => Promise<HeldPlan | null>): Promise<HeldPlan | null> {
    let loading = this.loading.get(name);
    if (loading === undefined) {
      loading = read().finally(() => {
        this.loading.delete(name);
        this.missed.delete(name);
      });
      this.loading.set(name, loading);
    }
    return loading;
  }

  private async read(name: string): Promise<HeldPlan | null> {
    const held = this.plans.peek(name);
    // Before the read: a change that comes during it makes it stale again.
    if (held) held.readAgainAtMs = FRESH;
    try {
      return this.put(name, await this.options.read(name));
    } catch (error) {
      if (!held) throw error;
      if (held.readAgainAtMs === FRESH) held.readAgainAtMs = retryAt(this.options.now);
      return held;
    }
  }

  private put(name: string, snapshot: PlanSnapshot | null): HeldPlan | null {
    const held = this.plans.peek(name);
    if (snapshot === null) {
      this.plans.delete(name);
      if (held) this.drop(held);
      return null;
    }
    if (held) {
      // A read that was overtaken by a newer one brings nothing.
      if (snapshot.version > held.snapshot.version) {
        held.snapshot = snapshot;
        this.options.onAdopted(snapshot);
      }
      this.plans.resize(held, bytesOfPlan(held.snapshot));
      return held;
    }
    const readAgainAtMs = this.missed.delete(name) ? NOW : FRESH;
    const plan = { name, snapshot, readAgainAtMs, used: false, bytes: bytesOfPlan(snapshot) };
    this.plans.set(name, plan);
    this.options.onAdopted(snapshot);
    return plan;
  }

  private drop(plan: HeldPlan): void {
    plan.readAgainAtMs = NOW;
    this.options.onDropped(plan);
  }
}

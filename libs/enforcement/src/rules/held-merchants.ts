import { SieveCache, type CacheEntry, type DefaultRulesSnapshot, type MerchantSnapshot, type Phase, type PlanSnapshot } from '#limiter';
import { bytesOf, type KnownRules } from './known-rules.js';
import type { HeldPlan } from './plan-cache.js';

/** What is held of one merchant, or of an id that belongs to none. */
export interface HeldMerchant extends CacheEntry {
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

/** Merchants that have been read and whose first request has not been decided yet. */
const MOST_RECENT = 64;

/** The merchants in use, and unknown ids, which never push out a merchant: each bounded by what it takes in memory. */
export class HeldMerchants {
  private readonly known: SieveCache<HeldMerchant>;
  private readonly unknown: SieveCache<HeldMerchant>;
  /** Merchants that came just now: what their first requests make ready is counted when the next one comes. */
  private recent: HeldMerchant[] = [];

  constructor(maxBytes: number, maxUnknownBytes: number) {
    this.known = new SieveCache(maxBytes);
    this.unknown = new SieveCache(maxUnknownBytes);
  }

  /** Merchants that exist. */
  get size(): number {
    return this.known.size;
  }

  get unknownSize(): number {
    return this.unknown.size;
  }

  get bytes(): number {
    return this.known.bytes + this.unknown.bytes;
  }

  /** Whether a merchant of this id exists and is held. */
  has(merchantId: string): boolean {
    return this.known.peek(merchantId) !== undefined;
  }

  get(merchantId: string): HeldMerchant | undefined {
    return this.known.get(merchantId) ?? this.unknown.get(merchantId);
  }

  /** Without counting as a use. */
  peek(merchantId: string): HeldMerchant | undefined {
    return this.known.peek(merchantId) ?? this.unknown.peek(merchantId);
  }

  /** The merchants that came first and are still here, as far as they exist. */
  first(count: number): string[] {
    const ids: string[] = [];
    for (const merchantId of this.known.keys()) {
      if (ids.length >= count) break;
      ids.push(merchantId);
    }
    return ids;
  }

  *ids(): Generator<string> {
    yield* this.known.keys();
    yield* this.unknown.keys();
  }

  put(merchant: Omit<HeldMerchant, 'takesCounted' | keyof CacheEntry>): void {
    const { merchantId, snapshot, rules, defaults, plan, planRules, readAgainAtMs, phase } = merchant;
    const [held, other] = snapshot === null ? [this.unknown, this.known] : [this.known, this.unknown];
    other.delete(merchantId);
    this.countRecent();
    // Field by field, so that all entries have one shape: `get` of the cache is the way of nearly every request.
    const bytes = bytesOf(merchantId, snapshot, rules);
    const entry = { merchantId, snapshot, rules, defaults, plan, planRules, takesCounted: 0, readAgainAtMs, phase, used: false, bytes };
    held.set(merchantId, entry);
    if (rules !== 'unknown_merchant') this.recent.push(entry);
  }

  /** Requests have made more of its rules ready, or they are others now. */
  count(entry: HeldMerchant): void {
    const { merchantId, snapshot, rules } = entry;
    entry.takesCounted = rules === 'unknown_merchant' ? 0 : rules.takesMade;
    (snapshot === null ? this.unknown : this.known).resize(entry, bytesOf(merchantId, snapshot, rules));
  }

  /** They hold what was compiled of the plan. It happens when plans take more memory than they may, or one is deleted. */
  forgetMerchantsOf(plan: HeldPlan): void {
    for (const [merchantId, entry] of this.known) if (entry.plan === plan) this.known.delete(merchantId);
  }

  /** Most unknown ids come once, so nobody asks for them again and counts what their request has made ready. */
  private countRecent(): void {
    const notAsked: HeldMerchant[] = [];
    for (const entry of this.recent) {
      if (this.peek(entry.merchantId) !== entry) continue;
      if (entry.rules === 'unknown_merchant' || entry.rules.takesMade > 0) this.count(entry);
      else notAsked.push(entry);
    }
    this.recent = notAsked.slice(-MOST_RECENT);
  }
}

import type { Descriptor, LimitReport, Rule, Verdict } from '#limiter';
import { TOP_KEY_RANKS, type TopKey, type TopKeyCount, type TopKeyRank } from '#limiter-redis';
import { hashedKeyOf } from './personal-hash.js';
import { hasKeyOfItsOwn, heldKeyText } from './rule-keys.js';
import { SpaceSaving } from './space-saving.js';

/** Keys of a merchant that are told apart between two flushes, and merchants. About 300 bytes a key. */
const KEYS_OF_MERCHANT = 16;
const MOST_MERCHANTS = 300;

/** To name a key costs microseconds, so on a busy gateway only some requests are looked at, each for many. */
const LOOKED_AT_A_SECOND = 200;
const ONE_IN = 64;

export interface BusyKeysOptions {
  /** Whether there is a merchant of this id. */
  readonly isMerchant: (merchantId: string) => boolean;
  /** With which personal parts of keys are hashed. */
  readonly secret: string;
  /** Milliseconds that never step back. */
  readonly now: () => number;
  /** From 0 to below 1. */
  readonly random?: () => number;
}

/** Of one merchant. */
type Sketches = Readonly<Record<TopKeyRank, SpaceSaving<TopKey>>>;

/**
 * Which keys of rules, like one account or one address, ask most and are refused most. Only requests under a rule with such a key are counted; beyond the first few
 * hundred of a second each costs one comparison, and one in 64 stands for the others.
 */
export class BusyKeys {
  private merchants = new Map<string, Sketches>();
  private secondMs = -Infinity;
  private looked = 0;
  /** Requests until the next one that is looked at, and for how many that one stands. */
  private skip = 0;
  private standsFor = 1;

  constructor(private readonly options: BusyKeysOptions) {}

  count(descriptor: Descriptor, verdict: Verdict): void {
    const { limits } = verdict;
    for (let i = 0; i < limits.length; i++) {
      if (!hasKeyOfItsOwn(limits[i]!)) continue;
      const weight = this.weight();
      if (weight > 0) this.look(descriptor, verdict, weight);
      return;
    }
  }

  /** What was counted since the last time: of each key what it came at least. */
  take(): TopKeyCount[] {
    const counts: TopKeyCount[] = [];
    for (const sketches of this.merchants.values())
      for (const rank of TOP_KEY_RANKS)
        for (const { what, atLeast } of sketches[rank].top()) counts.push({ ...what, rank, count: atLeast });
    if (counts.length > 0) this.merchants = new Map();
    return counts;
  }

  /** For how many requests this one stands; 0: it is not looked at. */
  private weight(): number {
    if (this.skip > 0) {
      this.skip--;
      return 0;
    }
    const { standsFor } = this;
    const nowMs = this.options.now();
    if (nowMs - this.secondMs >= 1_000) {
      this.secondMs = nowMs;
      this.looked = 0;
    }
    const isQuiet = this.looked++ < LOOKED_AT_A_SECOND;
    this.standsFor = isQuiet ? 1 : ONE_IN;
    // One in so many on average, and never in step with what repeats itself.
    this.skip = isQuiet ? 0 : Math.floor((this.options.random ?? Math.random)() * (2 * ONE_IN - 1));
    return standsFor;
  }

  /** The limits of a rule stand side by side. */
  private look(descriptor: Descriptor, { allowed, limits }: Verdict, weight: number): void {
    const sketches = this.sketchesOf(descriptor.merchantId);
    if (sketches === undefined) return;
    for (let i = 0; i < limits.length; i++) {
      const report = limits[i]!;
      if (limits[i - 1]?.ruleId === report.ruleId || !hasKeyOfItsOwn(report)) continue;
      const text = `${report.ruleId}${heldKeyText(report.rule, descriptor, this.options.secret)}`;
      const what = onlyOnce(() => this.named(report.rule, report.ruleId, descriptor));
      sketches.requests.add(text, weight, what);
      if (!allowed && limits.some((each) => each.ruleId === report.ruleId && refuses(each))) sketches.refused.add(text, weight, what);
    }
  }

  private named(rule: Rule, ruleId: string, descriptor: Descriptor): TopKey {
    return { merchantId: descriptor.merchantId, ruleId, key: hashedKeyOf(rule, descriptor, this.options.secret) };
  }

  private sketchesOf(merchantId: string): Sketches | undefined {
    const known = this.merchants.get(merchantId);
    if (known !== undefined || this.merchants.size >= MOST_MERCHANTS || !this.options.isMerchant(merchantId)) return known;
    const sketches = { requests: new SpaceSaving<TopKey>(KEYS_OF_MERCHANT), refused: new SpaceSaving<TopKey>(KEYS_OF_MERCHANT) };
    this.merchants.set(merchantId, sketches);
    return sketches;
  }
}

function refuses({ decision }: LimitReport): boolean {
  return !decision.allowed;
}

/** Both ranks name a key alike, and its hashes cost most. */
function onlyOnce<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

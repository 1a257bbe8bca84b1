import { NO_RULE, OTHER_MERCHANT, OTHER_RULE, type MerchantUsage, type RuleUsage } from '#limiter-redis';
import { usableOf, type LimitReport, type Verdict } from '#limiter';

/** Rules of merchants that are told apart between two flushes. About 100 bytes each. */
const MOST_PAIRS = 10_000;

/**
 * The rules of a merchant are a chain: most merchants have one, and of thousands what a count costs is how many places of the memory have to be
 * visited.
 */
interface Counted extends RuleUsage {
  next: Counted | undefined;
  /** The flush with which it is told. */
  readonly round: number;
}

/** Where the count of a merchant is remembered, so that the next decision about it looks nothing up. */
export interface UsageKeeper {
  usage: object | undefined;
}

export interface UsageCountersOptions {
  /** Whether there is a merchant of this id: others are not told apart. Asked once for each id between two flushes that is one's. */
  readonly isMerchant: (merchantId: string) => boolean;
  readonly mostPairs?: number;
}

/**
 * What became of requests, by merchant and rule, since it was last taken. A decision under a rule that is known costs a look-up and a few additions, and
 * allocates nothing.
 */
export class UsageCounters {
  private merchants = new Map<string, Counted>();
  private pairs = 0;
  /** Flushes so far. */
  private round = 0;
  /** Of ids that no merchant has. */
  private other = counts(OTHER_RULE, this.round);
  /** Of merchants and rules for which there is no room, so that it is known that numbers of theirs are missing. */
  private beyond = counts(NO_RULE, this.round);
  private readonly mostPairs: number;

  constructor(private readonly options: UsageCountersOptions) {
    this.mostPairs = options.mostPairs ?? MOST_PAIRS;
  }

  /** @param keeper of this merchant and no other */
  count(merchantId: string, verdict: Verdict, keeper?: UsageKeeper): void {
    const { allowed, limits, shadow } = verdict;
    if (limits.length === 0) {
      const usage = this.ruleOf(merchantId, NO_RULE, keeper);
      if (allowed) usage.passed++;
      else usage.refused++;
    } else {
      this.countLimits(merchantId, verdict, keeper);
    }
    for (const { ruleId, refused } of shadow) {
      if (refused) this.ruleOf(merchantId, ruleId).shadowRefused++;
      else if (allowed) this.ruleOf(merchantId, ruleId).passed++;
    }
  }

  /** What was counted since the last time; from now on it is counted anew. */
  take(): MerchantUsage[] {
    const { merchants, other, beyond } = this;
    const taken: MerchantUsage[] = Array.from(merchants, ([merchantId, first]) => ({ merchantId, rules: inChain(first) }));
    const others = [other, beyond].filter(({ passed, refused, shadowRefused }) => passed + refused + shadowRefused > 0);
    if (others.length > 0) taken.push({ merchantId: OTHER_MERCHANT, rules: others.map(usageOf) });
    if (taken.length > 0) this.merchants = new Map();
    this.pairs = 0;
    this.round++;
    this.other = counts(OTHER_RULE, this.round);
    this.beyond = counts(NO_RULE, this.round);
    return taken;
  }

  /** The limits of a rule stand side by side. */
  private countLimits(merchantId: string, { allowed, limits }: Verdict, keeper: UsageKeeper | undefined): void {
    // A penalty refuses where no limit does.
    const byPenalty = !allowed && !limits.some(refuses);
    for (let i = 0; i < limits.length;) {
      const { ruleId, rule } = limits[i]!;
      let refused = byPenalty && !!rule.penalty;
      let least = 100;
      for (; i < limits.length && limits[i]!.ruleId === ruleId; i++) {
        const { decision } = limits[i]!;
        if (!decision.allowed) refused = true;
        least = Math.min(least, percentLeft(decision.remaining, usableOf(decision)));
      }
      const usage = this.ruleOf(merchantId, ruleId, keeper);
      if (allowed) usage.passed++;
      else if (refused) usage.refused++;
      if (least < usage.leastPercent) usage.leastPercent = least;
    }
  }

  private ruleOf(merchantId: string, ruleId: string, keeper?: UsageKeeper): RuleUsage {
    const kept = keeper?.usage as Counted | undefined;
    if (kept !== undefined && kept.round === this.round && (kept.ruleId === ruleId || kept === this.beyond)) return kept;
    const first = this.merchants.get(merchantId);
    const found = inChainOf(first, ruleId) ?? this.add(merchantId, ruleId, first);
    // Of a merchant without any count there is none before the next flush, whatever its rule.
    if (keeper !== undefined && found !== this.other && (found !== this.beyond || first === undefined)) keeper.usage = found;
    return found;
  }

  private add(merchantId: string, ruleId: string, first: Counted | undefined): Counted {
    if (this.pairs >= this.mostPairs) return this.beyond;
    if (first === undefined && !this.options.isMerchant(merchantId)) return this.other;
    this.pairs++;
    const added = counts(ruleId, this.round);
    if (first === undefined) {
      this.merchants.set(merchantId, added);
    } else {
      added.next = first.next;
      first.next = added;
    }
    return added;
  }
}

function inChainOf(first: Counted | undefined, ruleId: string): Counted | undefined {
  for (let each = first; each !== undefined; each = each.next) if (each.ruleId === ruleId) return each;
  return undefined;
}

function inChain(first: Counted): RuleUsage[] {
  const rules: RuleUsage[] = [];
  for (let each: Counted | undefined = first; each !== undefined; each = each.next) rules.push(usageOf(each));
  return rules;
}

function usageOf({ ruleId, passed, refused, shadowRefused, leastPercent }: Counted): RuleUsage {
  return { ruleId, passed, refused, shadowRefused, leastPercent };
}

function refuses({ decision }: LimitReport): boolean {
  return !decision.allowed;
}

/** Of a limit that lets nothing pass nothing is left. */
function percentLeft(remaining: number, limit: number): number {
  return limit > 0 ? Math.max(0, Math.floor((100 * remaining) / limit)) : 0;
}

function counts(ruleId: string, round: number): Counted {
  return { ruleId, passed: 0, refused: 0, shadowRefused: 0, leastPercent: 100, next: undefined, round };
}

import { NO_RULE, OTHER_MERCHANT, OTHER_RULE, type MerchantUsage, type RuleUsage } from '#limiter-redis';
import { usableOf, type LimitReport, type Verdict } from '#limiter';

/** Rules of merchants that are told apart between two flushes. About 100 bytes each. */
const MOST_PAIRS = 10_000;

interface Counted {
  readonly merchantId: string;
  readonly rules: RuleUsage[];
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
  /** Of ids that no merchant has. */
  private other = counts(OTHER_RULE);
  /** Of merchants and rules for which there is no room, so that it is known that numbers of theirs are missing. */
  private beyond = counts(NO_RULE);
  private readonly mostPairs: number;

  constructor(private readonly options: UsageCountersOptions) {
    this.mostPairs = options.mostPairs ?? MOST_PAIRS;
  }

  count(merchantId: string, verdict: Verdict): void {
    const merchant = this.merchants.get(merchantId) ?? this.added(merchantId);
    const { allowed, limits, shadow } = verdict;
    if (limits.length === 0) {
      const usage = this.ruleOf(merchant, NO_RULE);
      if (allowed) usage.passed++;
      else usage.refused++;
    } else {
      this.countLimits(merchant, verdict);
    }
    for (const { ruleId, refused } of shadow) {
      if (refused) this.ruleOf(merchant, ruleId).shadowRefused++;
      else if (allowed) this.ruleOf(merchant, ruleId).passed++;
    }
  }

  /** What was counted since the last time; from now on it is counted anew. */
  take(): MerchantUsage[] {
    const { merchants, other, beyond } = this;
    const taken: MerchantUsage[] = [...merchants.values()];
    const others = [other, beyond].filter(({ passed, refused, shadowRefused }) => passed + refused + shadowRefused > 0);
    if (others.length > 0) taken.push({ merchantId: OTHER_MERCHANT, rules: others });
    if (taken.length > 0) this.merchants = new Map();
    this.pairs = 0;
    this.other = counts(OTHER_RULE);
    this.beyond = counts(NO_RULE);
    return taken;
  }

  /** The limits of a rule stand side by side. */
  private countLimits(merchant: Counted | undefined, { allowed, limits }: Verdict): void {
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
      const usage = this.ruleOf(merchant, ruleId);
      if (allowed) usage.passed++;
      else if (refused) usage.refused++;
      if (least < usage.leastPercent) usage.leastPercent = least;
    }
  }

  private ruleOf(merchant: Counted | undefined, ruleId: string): RuleUsage {
    if (merchant === undefined) return this.pairs >= this.mostPairs ? this.beyond : this.other;
    const { rules } = merchant;
    for (let i = 0; i < rules.length; i++) if (rules[i]!.ruleId === ruleId) return rules[i]!;
    if (this.pairs >= this.mostPairs) return this.beyond;
    this.pairs++;
    const usage = counts(ruleId);
    rules.push(usage);
    return usage;
  }

  private added(merchantId: string): Counted | undefined {
    if (this.pairs >= this.mostPairs || !this.options.isMerchant(merchantId)) return undefined;
    const merchant = { merchantId, rules: [] };
    this.merchants.set(merchantId, merchant);
    return merchant;
  }
}

function refuses({ decision }: LimitReport): boolean {
  return !decision.allowed;
}

/** Of a limit that lets nothing pass nothing is left. */
function percentLeft(remaining: number, limit: number): number {
  return limit > 0 ? Math.max(0, Math.floor((100 * remaining) / limit)) : 0;
}

function counts(ruleId: string): RuleUsage {
  return { ruleId, passed: 0, refused: 0, shadowRefused: 0, leastPercent: 100 };
}

import type { Decision, Reason } from './decision.js';
import type { Descriptor } from './descriptor.js';
import type { Limit } from './limit.js';
import { chooseRules, takesOf, type MerchantRules, type ReadyRule } from './merchant-rules.js';
import { StoreUnavailableError, type BucketStore, type BucketTake } from './ports.js';
import type { StoreFailurePolicy } from './rule.js';
import { allows, decide, type BucketLevel } from './token-bucket.js';

/** One limit's share in a verdict. */
export interface LimitReport {
  readonly ruleId: string;
  readonly limit: Limit;
  readonly decision: Decision;
}

/** The merged answer to a request, with its reason. */
export interface Verdict {
  readonly allowed: boolean;
  readonly reason: Reason;
  /** Where the decision came from: the shared store, this process while the store is away, or no bucket at all. */
  readonly source: 'store' | 'local' | 'none';
  /** Milliseconds until the same request would pass; null when that cannot be said. */
  readonly retryAfterMs: number | null;
  /** The limits that were asked, those of all chosen rules. */
  readonly limits: readonly LimitReport[];
  /** Shadow rules that would have refused. */
  readonly shadowRefusals: number;
}

const NO_LIMITS: readonly LimitReport[] = [];

/** Chooses the rules of a request, takes from their buckets, and merges the answers. The one function that decides. */
export class RateLimiter {
  constructor(
    private readonly store: BucketStore,
    /** Serves rules that say `local` while the store is away. */
    private readonly localStore: BucketStore,
  ) {}

  /** Never rejects with StoreUnavailableError: what that means is in the rules. Rejects with NewerRulesError. */
  async check(rules: MerchantRules, descriptor: Descriptor): Promise<Verdict> {
    const { enforced, shadow } = chooseRules(rules, descriptor);
    const counted = shadow.length === 0 ? undefined : this.countShadow(shadow, descriptor);
    const verdict = await this.enforce(enforced, descriptor);
    const shadowRefusals = counted === undefined ? 0 : await counted;
    return shadowRefusals === 0 ? verdict : { ...verdict, shadowRefusals };
  }

  private async enforce(rules: readonly ReadyRule[], descriptor: Descriptor): Promise<Verdict> {
    if (rules.length === 0) return NO_MATCHING_RULE;
    const takes = allTakes(rules, descriptor);
    try {
      return verdictOf(rules, takes, await this.store.take(takes), 'store');
    } catch (error) {
      if (error instanceof StoreUnavailableError) return this.withoutStore(rules, descriptor);
      throw error;
    }
  }

  /** The strictest of the chosen rules has the word: one that is closed closes, local ones are asked, open ones pass. */
  private async withoutStore(rules: readonly ReadyRule[], descriptor: Descriptor): Promise<Verdict> {
    const withPolicy = (policy: StoreFailurePolicy) => rules.filter(({ rule }) => rule.onStoreFailure === policy);
    if (withPolicy('closed').length > 0) return CLOSED;
    const local = withPolicy('local');
    if (local.length === 0) return OPEN;
    const takes = allTakes(local, descriptor);
    return verdictOf(local, takes, await this.localStore.take(takes), 'local');
  }

  /** Each shadow rule by itself, so that one that is exhausted does not hide the others. */
  private async countShadow(rules: readonly ReadyRule[], descriptor: Descriptor): Promise<number> {
    const refused = await Promise.all(
      rules.map(async (ready) => {
        try {
          const takes = takesOf(ready, descriptor);
          const levels = await this.store.take(takes);
          return takes.some((take, i) => !allows(take.bucket, levels[i]!, take.cost));
        } catch {
          return false;
        }
      }),
    );
    return refused.filter(Boolean).length;
  }
}

const NO_MATCHING_RULE: Verdict = {
  allowed: true, reason: 'no_matching_rule', source: 'none', retryAfterMs: 0, limits: NO_LIMITS, shadowRefusals: 0,
};
const OPEN: Verdict = {
  allowed: true, reason: 'store_unavailable', source: 'none', retryAfterMs: 0, limits: NO_LIMITS, shadowRefusals: 0,
};
const CLOSED: Verdict = {
  allowed: false, reason: 'store_unavailable', source: 'none', retryAfterMs: null, limits: NO_LIMITS, shadowRefusals: 0,
};

function allTakes(rules: readonly ReadyRule[], descriptor: Descriptor): readonly BucketTake[] {
  return rules.length === 1 ? takesOf(rules[0]!, descriptor) : rules.flatMap((ready) => takesOf(ready, descriptor));
}

function verdictOf(
  rules: readonly ReadyRule[],
  takes: readonly BucketTake[],
  levels: readonly BucketLevel[],
  source: 'store' | 'local',
): Verdict {
  let taken = true;
  for (let i = 0; i < takes.length; i++) {
    if (!allows(takes[i]!.bucket, levels[i]!, takes[i]!.cost)) taken = false;
  }
  const limits: LimitReport[] = [];
  let retryAfterMs: number | null = 0;
  for (const { rule } of rules) {
    for (const limit of rule.limits) {
      const { bucket, cost } = takes[limits.length]!;
      const decision = decide(bucket, levels[limits.length]!, cost, taken);
      limits.push({ ruleId: rule.id, limit, decision });
      if (retryAfterMs !== null) retryAfterMs = decision.retryAfterMs === null ? null : Math.max(retryAfterMs, decision.retryAfterMs);
    }
  }
  const reason = taken ? 'allowed' : retryAfterMs === null ? 'cost_exceeds_capacity' : 'over_limit';
  return { allowed: taken, reason, source, retryAfterMs, limits, shadowRefusals: 0 };
}

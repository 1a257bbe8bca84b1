import type { PenaltyLevel } from './algorithms/penalty.js';
import { allPass, isProvoked } from './all-or-nothing.js';
import { Claim } from './claim.js';
import type { Decision, Reason } from './decision.js';
import type { Descriptor } from './descriptor.js';
import type { Limit } from './limit.js';
import { chooseRules, takesOf, type MerchantRules, type ReadyRule } from './merchant-rules.js';
import { NewerRulesError, NO_SPARE_CAPACITY, StoreUnavailableError, type BucketStore, type BucketTake, type SpareCapacity } from './ports.js';
import type { StoreFailurePolicy } from './rule.js';
import { decide, type BucketLevel } from './bucket.js';

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
  /** How long the request waits its turn before it is forwarded; 0 if no limit is a queue. */
  readonly waitMs: number;
  /** The limits that were asked, those of all chosen rules. */
  readonly limits: readonly LimitReport[];
  /** Shadow rules that would have refused. */
  readonly shadowRefusals: number;
  /** Whether it passed only because the platform has spare capacity. */
  readonly usedSpare: boolean;
  /** Whether a penalty began with this refusal. */
  readonly beganBlock: boolean;
  /** What the request took, if it passed: each is to be released when it is over, or refunded if it never was. */
  readonly claims: readonly Claim[];
}

/** An edit of the rules that the caller has not seen yet is no verdict: it fetches them again and asks again. */
export type CheckOutcome = Verdict | NewerRulesError;

const NO_LIMITS: readonly LimitReport[] = [];
const NO_CLAIMS: readonly Claim[] = [];

/** Names a request among all that hold slots at a time, on whatever gateway. */
const randomSlot = (): number => Math.floor(Math.random() * Number.MAX_SAFE_INTEGER);

/** Chooses the rules of a request, takes from their buckets, and merges the answers. The one function that decides. */
export class RateLimiter {
  constructor(
    private readonly store: BucketStore,
    /** Serves rules that say `local` while the store is away. */
    private readonly localStore: BucketStore,
    private readonly spareCapacity: SpareCapacity = NO_SPARE_CAPACITY,
    private readonly newSlot: () => number = randomSlot,
  ) {}

  /** Calls back once, perhaps before it returns. A store that is away is no error here: what that means is in the rules. */
  check(rules: MerchantRules, descriptor: Descriptor, answer: (outcome: CheckOutcome) => void): void {
    const { enforced, shadow } = chooseRules(rules, descriptor);
    if (shadow.length === 0) this.enforce(enforced, descriptor, answer);
    else this.checkWithShadow(enforced, shadow, descriptor, answer);
  }

  private enforce(rules: readonly ReadyRule[], descriptor: Descriptor, answer: (outcome: CheckOutcome) => void): void {
    if (rules.length === 0) {
      answer(NO_MATCHING_RULE);
      return;
    }
    const claim = this.claim(this.store, rules, descriptor);
    const reservation = rules.some(({ elastic }) => elastic) ? this.spareCapacity.reserve() : 0;
    const spare = reservation > 0;
    this.store.take(claim.takes, (outcome, atUs) => {
      const verdict = outcome instanceof Error ? undefined : verdictOf(rules, claim, outcome, atUs, 'store', spare);
      if (spare && !verdict?.usedSpare) this.spareCapacity.giveBack(reservation);
      if (outcome instanceof StoreUnavailableError) {
        // Slots are perhaps taken, and nobody is going to use them.
        claim.release();
        this.withoutStore(rules, descriptor, answer);
      } else {
        answer(verdict ?? (outcome as NewerRulesError));
      }
    }, claim.slot, spare);
  }

  /** The strictest of the chosen rules has the word: one that is closed closes, local ones are asked, open ones pass. */
  private withoutStore(rules: readonly ReadyRule[], descriptor: Descriptor, answer: (outcome: CheckOutcome) => void): void {
    const withPolicy = (policy: StoreFailurePolicy) => rules.filter(({ rule }) => rule.onStoreFailure === policy);
    const local = withPolicy('local');
    if (withPolicy('closed').length > 0) answer(CLOSED);
    else if (local.length === 0) answer(OPEN);
    else {
      const claim = this.claim(this.localStore, local, descriptor);
      this.localStore.take(claim.takes, (outcome, atUs) => answer(outcome instanceof Error ? CLOSED : verdictOf(local, claim, outcome, atUs, 'local', false)), claim.slot);
    }
  }

  /** Each shadow rule is asked by itself, so that one that is exhausted does not hide the others. */
  private checkWithShadow(
    enforced: readonly ReadyRule[],
    shadow: readonly ReadyRule[],
    descriptor: Descriptor,
    answer: (outcome: CheckOutcome) => void,
  ): void {
    let missing = shadow.length + 1;
    let shadowRefusals = 0;
    let enforcedOutcome: CheckOutcome;
    const claims: Claim[] = [];
    const arrived = (): void => {
      if (--missing > 0) return;
      if (enforcedOutcome instanceof Error || !enforcedOutcome.allowed) {
        for (const claim of claims) claim.refund();
        answer(enforcedOutcome instanceof Error ? enforcedOutcome : { ...enforcedOutcome, shadowRefusals });
      } else {
        answer({ ...enforcedOutcome, shadowRefusals, claims: [...enforcedOutcome.claims, ...claims] });
      }
    };
    for (const ready of shadow) {
      const claim = this.claim(this.store, [ready], descriptor);
      this.store.take(claim.takes, (outcome, atUs) => {
        if (!(outcome instanceof Error)) {
          if (!allPass(claim.takes, outcome, false)) shadowRefusals++;
          else claims.push(granted(claim, outcome, atUs));
        }
        arrived();
      }, claim.slot);
    }
    this.enforce(enforced, descriptor, (outcome) => {
      enforcedOutcome = outcome;
      arrived();
    });
  }

  private claim(store: BucketStore, rules: readonly ReadyRule[], descriptor: Descriptor): Claim {
    const takes = allTakes(rules, descriptor);
    const holdsSlots = rules.length === 1 ? rules[0]!.holdsSlots : rules.some((ready) => ready.holdsSlots);
    return new Claim(store, takes, holdsSlots, holdsSlots ? this.newSlot() : 0);
  }
}

function granted(claim: Claim, levels: readonly BucketLevel[], atUs: number): Claim {
  claim.levels = levels;
  claim.takenAtUs = atUs;
  return claim;
}

const NO_MATCHING_RULE: Verdict = {
  allowed: true, reason: 'no_matching_rule', source: 'none', retryAfterMs: 0, waitMs: 0, limits: NO_LIMITS, shadowRefusals: 0, usedSpare: false, beganBlock: false, claims: NO_CLAIMS,
};
const OPEN: Verdict = {
  allowed: true, reason: 'store_unavailable', source: 'none', retryAfterMs: 0, waitMs: 0, limits: NO_LIMITS, shadowRefusals: 0, usedSpare: false, beganBlock: false, claims: NO_CLAIMS,
};
const CLOSED: Verdict = {
  allowed: false, reason: 'store_unavailable', source: 'none', retryAfterMs: null, waitMs: 0, limits: NO_LIMITS, shadowRefusals: 0, usedSpare: false, beganBlock: false, claims: NO_CLAIMS,
};

function allTakes(rules: readonly ReadyRule[], descriptor: Descriptor): readonly BucketTake[] {
  return rules.length === 1 ? takesOf(rules[0]!, descriptor) : rules.flatMap((ready) => takesOf(ready, descriptor));
}

function verdictOf(
  rules: readonly ReadyRule[],
  claim: Claim,
  levels: readonly BucketLevel[],
  atUs: number,
  source: 'store' | 'local',
  spare: boolean,
): Verdict {
  const { takes } = claim;
  const taken = allPass(takes, levels, spare);
  const limits: LimitReport[] = [];
  let retryAfterMs: number | null = 0;
  let waitMs = 0;
  let blockedMs = 0;
  let beganBlock = false;
  let usedSpare = false;
  let at = 0;
  for (const { rule, buckets } of rules) {
    for (const limit of rule.limits) {
      const { bucket, cost } = takes[at]!;
      const decision = decide(bucket, levels[at++]!, cost, taken, spare);
      limits.push({ ruleId: rule.id, limit, decision });
      if (decision.waitMs !== undefined) waitMs = Math.max(waitMs, decision.waitMs);
      if (retryAfterMs !== null) retryAfterMs = decision.retryAfterMs === null ? null : Math.max(retryAfterMs, decision.retryAfterMs);
      if (bucket.elastic && decision.overLimit) usedSpare = true;
    }
    if (buckets.length === rule.limits.length) continue;
    const block = blockOf(takes, levels, at++, spare);
    blockedMs = Math.max(blockedMs, block.ms);
    beganBlock ||= block.began;
  }
  const blocked = blockedMs > 0 && !beganBlock;
  const reason = taken ? 'allowed' : retryAfterMs === null ? 'cost_exceeds_capacity' : blocked ? 'blocked' : 'over_limit';
  if (retryAfterMs !== null) retryAfterMs = Math.max(retryAfterMs, blockedMs);
  return { allowed: taken, reason, source, retryAfterMs, waitMs, limits, shadowRefusals: 0, usedSpare, beganBlock, claims: taken ? [granted(claim, levels, atUs)] : NO_CLAIMS };
}

/** What the penalty at an index has to say: how long it blocks, and whether that has just begun. */
function blockOf(takes: readonly BucketTake[], levels: readonly BucketLevel[], index: number, spare: boolean): { ms: number; began: boolean } {
  const { bucket, cost } = takes[index]!;
  const ms = decide(bucket, levels[index]!, cost, false).retryAfterMs ?? 0;
  const last = bucket.kind === 'penalty' && (levels[index] as PenaltyLevel).refusals + 1 >= bucket.refusals;
  if (ms > 0 || !last || !isProvoked(takes, levels, index, spare)) return { ms, began: false };
  return { ms: bucket.blockUs / 1000, began: true };
}

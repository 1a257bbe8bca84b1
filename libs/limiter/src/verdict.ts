import type { PenaltyLevel } from './algorithms/penalty/penalty.js';
import { isBlocked } from './buckets/block.js';
import { decide } from './buckets/bucket.js';
import type { CompiledRule } from './matching/compiled-rule.js';
import type { Decision, Reason, RetryAfter } from './buckets/decision.js';
import type { Limit } from './limits/limit.js';
import type { TakeSource } from './stores/ports.js';
import type { Reservation } from './reservation.js';
import type { Rule } from './rules/rule.js';
import type { RuleOrigin } from './rules/rule-origin.js';
import { allPass, isProvoked, type PenaltyTake } from './buckets/take.js';

/** What one limit contributes to a verdict. */
export interface LimitReport {
  readonly ruleId: string;
  readonly rule: Rule;
  readonly origin: RuleOrigin;
  readonly limit: Limit;
  /** Tokens that the request asked for. */
  readonly cost: number;
  readonly decision: Decision;
}

/** What became of a request under a shadow rule that was asked about it. */
export interface ShadowReport {
  readonly ruleId: string;
  /** Whether the rule would have refused it. */
  readonly refused: boolean;
}

/** The merged answer to a request, with its reason. */
export interface Verdict {
  readonly allowed: boolean;
  readonly reason: Reason;
  /**
   * Where the decision came from: the shared store; this process, which remembers that the store has refused it, spends what it was lent, decides by what
   * it has last heard, or decides by itself while the store is away; or no bucket at all.
   */
  readonly source: TakeSource | 'local' | 'none';
  /** Milliseconds until the same request would pass; `unknown` while the store is away. */
  readonly retryAfterMs: RetryAfter | 'unknown';
  /** How long the request waits its turn before it is forwarded; 0 if no limit is a queue. */
  readonly waitMs: number;
  /** The limits that were asked, those of all chosen rules. */
  readonly limits: readonly LimitReport[];
  /** Shadow rules that would have refused. */
  readonly shadowRefusals: number;
  /** Each shadow rule that was asked. */
  readonly shadow: readonly ShadowReport[];
  /** Whether it passed only because the platform has spare capacity. */
  readonly usedSpare: boolean;
  /** Whether a penalty began with this refusal. */
  readonly beganBlock: boolean;
  /** Only where a penalty blocks: the first rule whose penalty does. */
  readonly blockedBy?: Rule;
  /** Only of a retry of a request that was charged: it was not charged again. */
  readonly retried?: true;
  /** Only of a request that is refused for what it says, or does not say: the rule that needs it, and the field. */
  readonly fault?: RequestFault;
  /** Only of a request that is over a limit and passes all the same: the route to which it goes. */
  readonly reroutedTo?: string;
  /** What the request took, if it passed: each is to be released when the request is over, or refunded if it never reached the upstream. */
  readonly reservations: readonly Reservation[];
}

/** What a rule needs of a request and cannot have. */
export interface RequestFault {
  readonly rule: Rule;
  /** The field of the request. */
  readonly field: string;
  readonly detail: string;
}

const NO_SHADOW: readonly ShadowReport[] = [];

const WITHOUT_BUCKETS = {
  source: 'none',
  retryAfterMs: 0,
  waitMs: 0,
  limits: [],
  shadowRefusals: 0,
  shadow: NO_SHADOW,
  usedSpare: false,
  beganBlock: false,
  reservations: [],
} as const;

export const NO_MATCHING_RULE: Verdict = { ...WITHOUT_BUCKETS, allowed: true, reason: 'no_matching_rule' };
/** The store is away, and the rules let requests pass meanwhile. */
export const OPEN: Verdict = { ...WITHOUT_BUCKETS, allowed: true, reason: 'store_unavailable' };
/** The store is away, and a rule refuses requests meanwhile. */
export const CLOSED: Verdict = { ...WITHOUT_BUCKETS, allowed: false, reason: 'store_unavailable', retryAfterMs: 'unknown' };

/** A request is refused for what stands in it, and no limit is asked. */
export function faulty(reason: 'unreadable_body' | 'invalid_cost', fault: RequestFault): Verdict {
  return { ...WITHOUT_BUCKETS, allowed: false, reason, retryAfterMs: 'never', fault };
}

/**
 * Merges what the buckets of a request have answered to its reservation.
 *
 * @param unitsPerToken in which the buckets count: see local-share.ts
 */
export function verdictOf(
  rules: readonly CompiledRule[],
  reservation: Reservation,
  source: Exclude<Verdict['source'], 'none'>,
  unitsPerToken = 1,
): Verdict {
  const { takes, levels, spare } = reservation;
  const taken = allPass(reservation, levels);
  const limits: LimitReport[] = [];
  let retryAfterMs: RetryAfter = 0;
  let waitMs = 0;
  let blockedMs = 0;
  let hasBlockedLimit = false;
  let beganBlock = false;
  let blockedBy: Rule | undefined;
  let usedSpare = false;
  // Of the bucket that is looked at: a store is asked rule by rule, the penalty of a rule last.
  let index = 0;
  for (const { rule, origin, buckets } of rules) {
    for (const limit of rule.limits) {
      const { bucket, cost } = takes[index]!;
      const decision = inTokens(decide(bucket, levels[index++]!, cost, taken, spare), unitsPerToken);
      limits.push({ ruleId: rule.id, rule, origin, limit, cost: cost / unitsPerToken, decision });
      if (decision.blocked) hasBlockedLimit = true;
      if (decision.waitMs !== undefined) waitMs = Math.max(waitMs, decision.waitMs);
      retryAfterMs = later(retryAfterMs, decision.retryAfterMs);
      if (bucket.elastic && decision.overLimit) usedSpare = true;
    }
    if (buckets.penalty === undefined) continue;
    const block = blockOf(reservation, index++);
    if (block.ms > 0) blockedBy ??= rule;
    blockedMs = Math.max(blockedMs, block.ms);
    beganBlock ||= block.began;
  }
  const blocked = hasBlockedLimit || (blockedMs > 0 && !beganBlock);
  const verdict: Verdict = {
    allowed: taken,
    reason: taken ? 'allowed' : retryAfterMs === 'never' ? 'cost_exceeds_capacity' : blocked ? 'blocked' : 'over_limit',
    source,
    retryAfterMs: later(retryAfterMs, blockedMs),
    waitMs,
    limits,
    shadowRefusals: 0,
    shadow: NO_SHADOW,
    usedSpare,
    beganBlock,
    reservations: taken ? [reservation] : [],
  };
  return blockedBy === undefined ? verdict : { ...verdict, blockedBy };
}

function later(a: RetryAfter, b: RetryAfter): RetryAfter {
  return a === 'never' || b === 'never' ? 'never' : Math.max(a, b);
}

function inTokens(decision: Decision, unitsPerToken: number): Decision {
  if (unitsPerToken === 1) return decision;
  const { limit, remaining, withheld } = decision;
  const whole = { ...decision, limit: limit / unitsPerToken, remaining: Math.floor(remaining / unitsPerToken) };
  return withheld === undefined ? whole : { ...whole, withheld: withheld / unitsPerToken };
}

/** How long the penalty at an index blocks, and whether that has just begun. */
function blockOf(reservation: Reservation, index: number): { ms: number; began: boolean } {
  const { takes, levels } = reservation;
  const { bucket } = takes[index] as PenaltyTake;
  const level = levels[index]!;
  if (isBlocked(level)) return { ms: Math.ceil(level.blockedForUs / 1000), began: false };
  const { blockedUs, refusals } = level as PenaltyLevel;
  if (blockedUs > 0) return { ms: Math.ceil(blockedUs / 1000), began: false };
  const begins = refusals + 1 >= bucket.capacity && isProvoked(reservation, levels, index);
  return begins ? { ms: bucket.blockUs / 1000, began: true } : { ms: 0, began: false };
}

/**
 * What the buckets of a verdict's limits said before the request, which the verdict, of a request that passes, tells as it is afterwards. Undefined
 * where nothing was reserved, as of a refusal, which leaves everything as it is.
 */
export function decisionsBefore({ reservations: [enforced] }: Verdict): readonly Decision[] | undefined {
  if (enforced === undefined) return undefined;
  const asked = enforced.takes.map(({ bucket, cost }, i) => ({ bucket, decision: decide(bucket, enforced.levels[i]!, cost, false) }));
  return asked.filter(({ bucket }) => bucket.kind !== 'penalty').map(({ decision }) => decision);
}

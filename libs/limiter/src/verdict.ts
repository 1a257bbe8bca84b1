import type { PenaltyLevel } from './algorithms/penalty/penalty.js';
import { allPass, isProvoked } from './all-or-nothing.js';
import { decide, type BucketLevel } from './bucket.js';
import type { Claim } from './claim.js';
import type { Decision, Reason } from './decision.js';
import type { Limit } from './limit.js';
import type { ReadyRule } from './merchant-rules.js';
import type { BucketTake } from './ports.js';

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
  /**
   * Where the decision came from: the shared store; this process, which remembers that the store has refused it, or decides by itself while the
   * store is away; or no bucket at all.
   */
  readonly source: 'store' | 'memory' | 'local' | 'none';
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

const WITHOUT_BUCKETS = {
  source: 'none',
  retryAfterMs: 0,
  waitMs: 0,
  limits: [],
  shadowRefusals: 0,
  usedSpare: false,
  beganBlock: false,
  claims: [],
} as const;

export const NO_MATCHING_RULE: Verdict = { ...WITHOUT_BUCKETS, allowed: true, reason: 'no_matching_rule' };
/** The store is away, and the rules let pass then, or not. */
export const OPEN: Verdict = { ...WITHOUT_BUCKETS, allowed: true, reason: 'store_unavailable' };
export const CLOSED: Verdict = { ...WITHOUT_BUCKETS, allowed: false, reason: 'store_unavailable', retryAfterMs: null };

/**
 * Merges what the buckets of a request have answered to its claim.
 *
 * @param parts what a bucket counts for a token: see local-share.ts
 */
export function verdictOf(
  rules: readonly ReadyRule[],
  claim: Claim,
  source: Exclude<Verdict['source'], 'none'>,
  spare: boolean,
  parts = 1,
): Verdict {
  const { takes, levels } = claim;
  const taken = allPass(takes, levels, spare);
  const limits: LimitReport[] = [];
  let retryAfterMs: number | null = 0;
  let waitMs = 0;
  let blockedMs = 0;
  let hasBlockedLimit = false;
  let beganBlock = false;
  let usedSpare = false;
  let at = 0;
  for (const { rule, buckets } of rules) {
    for (const limit of rule.limits) {
      const { bucket, cost } = takes[at]!;
      const decision = inTokens(decide(bucket, levels[at++]!, cost, taken, spare), parts);
      limits.push({ ruleId: rule.id, limit, decision });
      if (decision.blocked) hasBlockedLimit = true;
      if (decision.waitMs !== undefined) waitMs = Math.max(waitMs, decision.waitMs);
      if (retryAfterMs !== null) retryAfterMs = decision.retryAfterMs === null ? null : Math.max(retryAfterMs, decision.retryAfterMs);
      if (bucket.elastic && decision.overLimit) usedSpare = true;
    }
    if (buckets.length === rule.limits.length) continue;
    const block = blockOf(takes, levels, at++, spare);
    blockedMs = Math.max(blockedMs, block.ms);
    beganBlock ||= block.began;
  }
  const blocked = hasBlockedLimit || (blockedMs > 0 && !beganBlock);
  const reason = taken ? 'allowed' : retryAfterMs === null ? 'cost_exceeds_capacity' : blocked ? 'blocked' : 'over_limit';
  if (retryAfterMs !== null) retryAfterMs = Math.max(retryAfterMs, blockedMs);
  return {
    allowed: taken,
    reason,
    source,
    retryAfterMs,
    waitMs,
    limits,
    shadowRefusals: 0,
    usedSpare,
    beganBlock,
    claims: taken ? [claim] : [],
  };
}

function inTokens(decision: Decision, parts: number): Decision {
  if (parts === 1) return decision;
  return { ...decision, limit: decision.limit / parts, remaining: Math.floor(decision.remaining / parts) };
}

/** What the penalty at an index has to say: how long it blocks, and whether that has just begun. */
function blockOf(
  takes: readonly BucketTake[],
  levels: readonly BucketLevel[],
  index: number,
  spare: boolean,
): { ms: number; began: boolean } {
  const { bucket, cost } = takes[index]!;
  const ms = decide(bucket, levels[index]!, cost, false).retryAfterMs ?? 0;
  const last = bucket.kind === 'penalty' && (levels[index] as PenaltyLevel).refusals + 1 >= bucket.capacity;
  if (ms > 0 || !last || !isProvoked(takes, levels, index, spare)) return { ms, began: false };
  return { ms: bucket.blockUs / 1000, began: true };
}

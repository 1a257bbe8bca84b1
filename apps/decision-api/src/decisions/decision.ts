import { type HeadersOf, refusalOf, refusalWithoutVerdict, type Refusal, tightestOf } from '#edge';
import { isVerdict, type Outcome } from '#enforcement';
import type { RetryAfter, Verdict } from '#limiter';

/** What one limit says of a request. */
export interface LimitDecision {
  readonly rule: string;
  readonly name: string;
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** Milliseconds until the same request would pass; `never` if it costs more than the limit ever allows at once. */
  readonly retryAfterMs: RetryAfter;
  /** Milliseconds until the limit is whole again. */
  readonly resetAfterMs: number;
}

/** The answer about one request, the same at every door. */
export interface Decision {
  readonly allowed: boolean;
  readonly reason: Outcome['reason'];
  /** With which a gateway would answer; 200 for a request that passes. */
  readonly status: number;
  /** The rule of the limit that says most about what may come next: one that refuses, or the one with the least left. Undefined where no limit was asked. */
  readonly rule?: string | undefined;
  readonly ruleName?: string | undefined;
  /** Of that limit. */
  readonly limit?: number | undefined;
  readonly remaining?: number | undefined;
  readonly resetAfterMs?: number | undefined;
  /** Milliseconds until the same request would pass: all limits together, and blocks; 0 if it passes. `unknown` while Redis is away. */
  readonly retryAfterMs: Verdict['retryAfterMs'];
  /** How long the caller has to hold the request before it goes on, in milliseconds: it waits its turn in a queue. */
  readonly waitMs: number;
  /** Of all rules that were chosen. */
  readonly limits: readonly LimitDecision[];
  /** That tell of limits, as a gateway writes them. Flat list of names and values. */
  readonly headers: readonly string[];
  /** By which what was taken can be given back. Undefined if none was wanted, nothing was taken, or Redis could not keep it: then what was taken stays taken. */
  readonly claim?: string | undefined;
}

/** With what stands behind it, for the doors. */
export interface MadeDecision extends Decision {
  readonly outcome: Outcome;
}

const NO_LIMITS: readonly LimitDecision[] = [];
const NO_HEADERS: readonly string[] = [];

export function decisionOf(outcome: Outcome, headersOf: HeadersOf): MadeDecision {
  const { allowed, reason } = outcome;
  const status = allowed ? 200 : statusOf(outcome);
  if (!isVerdict(outcome))
    return { allowed, reason, status, retryAfterMs: 'unknown', waitMs: 0, limits: NO_LIMITS, headers: NO_HEADERS, outcome };
  const { limits, retryAfterMs, waitMs } = outcome;
  if (limits.length === 0) return { allowed, reason, status, retryAfterMs, waitMs, limits: NO_LIMITS, headers: NO_HEADERS, outcome };
  const { rule, decision } = tightestOf(limits);
  // Member by member: to spread an object of this size costs as much as all of this.
  return {
    allowed,
    reason,
    status,
    rule: rule.id,
    ruleName: rule.name,
    limit: decision.limit,
    remaining: decision.remaining,
    retryAfterMs,
    resetAfterMs: decision.resetAfterMs,
    waitMs,
    limits: limits.map(limitDecisionOf),
    headers: headersOf(limits),
    outcome,
  };
}

function limitDecisionOf({ ruleId, limit, decision }: Verdict['limits'][number]): LimitDecision {
  const { allowed, remaining, retryAfterMs, resetAfterMs } = decision;
  return { rule: ruleId, name: limit.name, allowed, limit: decision.limit, remaining, retryAfterMs, resetAfterMs };
}

/** As a gateway answers it. */
function statusOf(outcome: Outcome): number {
  if (!isVerdict(outcome)) return outcome.reason === 'unknown_merchant' ? 403 : 503;
  if (outcome.fault !== undefined) return 400;
  return outcome.reason === 'store_unavailable' ? 503 : 429;
}

/** The whole answer of a gateway to a request that does not pass. */
export function refusalOfDecision({ outcome }: MadeDecision, requestId: string, headersOf: HeadersOf): Refusal {
  return isVerdict(outcome) ? refusalOf(outcome, requestId, headersOf) : refusalWithoutVerdict(outcome.reason, requestId);
}

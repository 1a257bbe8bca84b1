import type { Verdict } from '#limiter';

/**
 * Why a descriptor got no verdict: its merchant does not exist; the merchant is not in Redis, and so many ids were unknown lately that
 * PostgreSQL is not asked about another one now; or neither Redis nor PostgreSQL could say what the rules are.
 */
export type NoVerdictReason = 'unknown_merchant' | 'too_many_unknown' | 'rules_unavailable';

/** It is not known which rules apply, so no limit was asked and nothing was taken. */
export interface NoVerdict {
  readonly allowed: false;
  readonly reason: NoVerdictReason;
}

/** The answer to a descriptor. `reason` tells the two apart; a request may go on only if it is `allowed`, and then holds the verdict's reservations. */
export type Outcome = Verdict | NoVerdict;

export const UNKNOWN_MERCHANT: NoVerdict = { allowed: false, reason: 'unknown_merchant' };
export const TOO_MANY_UNKNOWN: NoVerdict = { allowed: false, reason: 'too_many_unknown' };
export const RULES_UNAVAILABLE: NoVerdict = { allowed: false, reason: 'rules_unavailable' };

export function isVerdict(outcome: Outcome): outcome is Verdict {
  return 'reservations' in outcome;
}

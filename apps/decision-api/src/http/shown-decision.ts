import type { Decision, MadeDecision } from '../decisions/decision.js';

/** A decision as it is written in an answer. */
export function shownDecision(decision: MadeDecision): Record<string, unknown> {
  const { allowed, reason, status, rule, ruleName, limit, remaining, retryAfterMs, resetAfterMs, waitMs, limits, claim, outcome } =
    decision;
  const fault = 'fault' in outcome ? outcome.fault : undefined;
  return {
    allowed,
    reason,
    status,
    rule,
    ruleName,
    limit,
    remaining,
    retryAfterMs,
    resetAfterMs,
    waitMs,
    limits,
    headers: headersShown(decision),
    claim,
    fault: fault && { rule: fault.rule.id, field: fault.field, detail: fault.detail },
  };
}

function headersShown({ headers }: Decision): Record<string, string> {
  const shown: Record<string, string> = {};
  for (let i = 0; i < headers.length; i += 2) shown[headers[i]!] = headers[i + 1]!;
  return shown;
}

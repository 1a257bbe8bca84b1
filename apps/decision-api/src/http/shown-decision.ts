import type { Decision, LimitDecision, MadeDecision } from '../decisions/decision.js';

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

/** The same as JSON.stringify(shownDecision(decision)) writes, at half the cost where the decision is an ordinary one of few limits. */
export function decisionText(decision: MadeDecision): string {
  const { allowed, reason, status, rule, ruleName, limit, remaining, retryAfterMs, resetAfterMs, waitMs, limits, claim, outcome, headers } =
    decision;
  const isOrdinary = rule !== undefined && claim === undefined && !('fault' in outcome && outcome.fault !== undefined);
  if (!isOrdinary || !areMembers(headers)) return JSON.stringify(shownDecision(decision));
  let limitTexts = limitText(limits[0]!);
  for (let i = 1; i < limits.length; i++) limitTexts += `,${limitText(limits[i]!)}`;
  let headerTexts = '';
  for (let i = 0; i < headers.length; i += 2)
    headerTexts += `${i === 0 ? '' : ','}${quoted(headers[i]!)}:${JSON.stringify(headers[i + 1])}`;
  return `{"allowed":${allowed},"reason":"${reason}","status":${status},"rule":${quoted(rule)},"ruleName":${quoted(ruleName!)},"limit":${number(limit!)},"remaining":${number(remaining!)},"retryAfterMs":${wait(retryAfterMs)},"resetAfterMs":${number(resetAfterMs!)},"waitMs":${number(waitMs)},"limits":[${limitTexts}],"headers":{${headerTexts}}}`;
}

function limitText({ rule, name, allowed, limit, remaining, retryAfterMs, resetAfterMs }: LimitDecision): string {
  return `{"rule":${quoted(rule)},"name":${quoted(name)},"allowed":${allowed},"limit":${number(limit)},"remaining":${number(remaining)},"retryAfterMs":${wait(retryAfterMs)},"resetAfterMs":${number(resetAfterMs)}}`;
}

/** Two of one name would be one member of an object, and one of the name 7 would come before all others. */
function areMembers(headers: readonly string[]): boolean {
  for (let i = 0; i < headers.length; i += 2) if (!HEADER_NAME.test(headers[i]!) || headers.indexOf(headers[i]!) !== i) return false;
  return true;
}

const HEADER_NAME = /^[A-Za-z-]+$/;

function number(value: number): string {
  return Number.isFinite(value) ? `${value}` : 'null';
}

function wait(value: number | string): string {
  return typeof value === 'number' ? number(value) : `"${value}"`;
}

const PLAIN = /^[\w .:-]*$/;

function quoted(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);
}

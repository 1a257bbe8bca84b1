import type { NoVerdictReason } from '#enforcement';
import type { Limit, Reason, RequestFault, Rule, Verdict } from '#limiter';
import { problemTypeUri, type ProblemType } from '#platform';
import { Problem } from './problem-answer.js';
import { type HeadersOf, msToMore, rateLimitHeaders, retryAfterHeader, violatedPolicies } from './rate-limit-headers.js';

/** An answer to a request that does not pass. */
export interface Refusal {
  readonly forward: false;
  readonly status: number;
  /** Flat list of names and values. */
  readonly headers: readonly string[];
  /** application/problem+json, ready. */
  readonly body: string;
}

interface RefusalFields {
  status: number;
  type: ProblemType;
  /** Stable, for programs; finer than the type. */
  code: string;
  title: string;
  detail: string;
  requestId: string;
  headers?: readonly string[];
  extensions?: Readonly<Record<string, unknown>>;
}

/** A refusal as problem details (RFC 9457). */
export function refusal({ status, type, code, title, detail, requestId, headers = [], extensions }: RefusalFields): Refusal {
  return {
    forward: false,
    status,
    headers,
    body: JSON.stringify({ type: problemTypeUri(type), code, title, status, detail, ...extensions, requestId }),
  };
}

/** The limits said no, or nobody could ask them. @param headersOf how headers tell of limits */
export function refusalOf(verdict: Verdict, requestId: string, headersOf: HeadersOf = rateLimitHeaders): Refusal {
  if (verdict.fault !== undefined) return faultyRequest(verdict.reason, verdict.fault, requestId);
  if (verdict.reason === 'store_unavailable')
    return unavailable('limiter.unavailable', verdict.source === 'local' ? COSTS_MORE_THAN_A_SHARE : REFUSED_BY_RULE, requestId);
  const prepared = verdict.limits.length === 1 ? PREPARED.get(verdict.limits[0]!.limit) : undefined;
  if (prepared !== undefined && prepared.headersOf === headersOf && saysTheSame(prepared.verdict, verdict))
    return { ...prepared.refusal, body: prepared.bodyUntilId + requestId + END_OF_BODY };
  const made = quotaExceeded(verdict, requestId, headersOf);
  // Of other headers it is not known when they change.
  if (verdict.limits.length === 1 && headersOf === rateLimitHeaders)
    PREPARED.set(verdict.limits[0]!.limit, {
      verdict,
      headersOf,
      refusal: made,
      bodyUntilId: made.body.slice(0, -requestId.length - END_OF_BODY.length),
    });
  return made;
}

/** A refusal by one limit, to be said again: whoever is refused once is mostly refused many times a second, and only the id differs. */
interface Prepared {
  readonly verdict: Verdict;
  readonly headersOf: HeadersOf;
  readonly refusal: Refusal;
  readonly bodyUntilId: string;
}

const PREPARED = new WeakMap<Limit, Prepared>();
/** A request id has no character that JSON would write otherwise. */
const END_OF_BODY = '"}';

/** Whether a refusal by the same limit has the same headers and the same text. */
function saysTheSame(a: Verdict, b: Verdict): boolean {
  const [{ limit, decision: before }, { decision: now }] = [a.limits[0]!, b.limits[0]!];
  return (
    a.reason === b.reason &&
    a.beganBlock === b.beganBlock &&
    secondsOf(a.retryAfterMs) === secondsOf(b.retryAfterMs) &&
    before.allowed === now.allowed &&
    before.remaining === now.remaining &&
    before.withheld === now.withheld &&
    before.blocked === now.blocked &&
    before.overLimit === now.overLimit &&
    secondsOf(msToMore(limit, before)) === secondsOf(msToMore(limit, now))
  );
}

function secondsOf(ms: Verdict['retryAfterMs']): Verdict['retryAfterMs'] {
  return typeof ms === 'number' ? Math.ceil(ms / 1000) : ms;
}

function quotaExceeded(verdict: Verdict, requestId: string, headersOf: HeadersOf): Refusal {
  const names = violatedPolicies(verdict);
  const { retryAfterMs } = verdict;
  const inSeconds = typeof retryAfterMs === 'number' ? `Try again in ${Math.max(1, Math.ceil(retryAfterMs / 1000))} s.` : '';
  const isBlocked = verdict.reason === 'blocked';
  const rule = refusingRule(verdict);
  return refusal({
    status: 429,
    type: isBlocked ? 'abnormal-usage-detected' : 'quota-exceeded',
    code: codeOf(verdict),
    title: isBlocked ? 'Abnormal usage detected' : 'Quota exceeded',
    detail: detailOf(verdict, names, inSeconds),
    requestId,
    headers: [...headersOf(verdict.limits), ...retryAfterHeader(retryAfterMs)],
    extensions: { 'violated-policies': names, ...(rule && { rule: rule.id, ruleName: rule.name }) },
  });
}

/** The first rule that refuses, by a limit or by its penalty. */
function refusingRule({ limits, blockedBy }: Verdict): Rule | undefined {
  return limits.find(({ decision }) => !decision.allowed)?.rule ?? blockedBy;
}

function faultyRequest(reason: Reason, { rule, field, detail }: RequestFault, requestId: string): Refusal {
  return refusal({
    status: 400,
    type: 'bad-request',
    code: reason === 'unreadable_body' ? 'body.not_readable' : 'cost.not_valid',
    title: 'Bad Request',
    detail:
      reason === 'unreadable_body'
        ? `A limit needs to look at the body, which ${detail}.`
        : `A limit goes by the field ${field}, which ${detail}.`,
    requestId,
    extensions: { rule: rule.id, ruleName: rule.name, field },
  });
}

const REFUSED_BY_RULE = 'The rate limiter cannot be asked, and the rule says to refuse then.';
const COSTS_MORE_THAN_A_SHARE =
  'The rate limiter cannot be asked, and the request costs more than the share of the limit that this gateway has until then.';

function codeOf({ reason, limits }: Verdict): string {
  if (reason === 'cost_exceeds_capacity') return 'quota.cost_exceeds_capacity';
  if (reason !== 'blocked') return 'quota.exceeded';
  return limits.some(({ decision }) => decision.blocked) ? 'quota.blocked_by_operator' : 'quota.blocked_by_penalty';
}

function detailOf({ reason, limits, beganBlock }: Verdict, names: readonly string[], inSeconds: string): string {
  const isReserved = limits.some(({ decision }) => !decision.allowed && decision.withheld !== undefined);
  const reserved = isReserved ? ' A part of the limit is reserved for other routes.' : '';
  if (reason === 'cost_exceeds_capacity')
    return `The request costs more than the limit ever allows at once; waiting does not help.${reserved}`;
  if (reason === 'blocked' && limits.some(({ decision }) => decision.blocked)) return `Blocked by an operator. ${inSeconds}`;
  if (reason === 'blocked') return `Blocked, because too many requests were refused. ${inSeconds}`;
  return `Too many requests: ${names.join(', ')}.${beganBlock ? ' That was refused too often: everything is blocked now.' : ''}${reserved} ${inSeconds}`;
}

export function unavailable(code: string, detail: string, requestId: string): Refusal {
  return refusal({
    status: 503,
    type: 'temporary-reduced-capacity',
    code,
    title: 'Service unavailable',
    detail,
    requestId,
    headers: ['Retry-After', '1'],
  });
}

const temporarily = (code: string, detail: string): Problem =>
  new Problem(503, 'Service unavailable', 'temporary-reduced-capacity', code, detail, { headers: ['Retry-After', '1'] });

/** Prepared: of ids that no merchant has there can be thousands a second. */
const WITHOUT_VERDICT: Record<NoVerdictReason, Problem> = {
  unknown_merchant: new Problem(403, 'Forbidden', 'unknown-merchant', 'merchant.unknown', 'There is no such merchant.'),
  too_many_unknown: temporarily(
    'rules.too_many_lookups',
    'It cannot be said at the moment whether there is such a merchant: too many were asked for that do not exist.',
  ),
  rules_unavailable: temporarily('rules.unavailable', 'The rules of this merchant cannot be read at the moment.'),
};

/** It is not known which rules apply. */
export function refusalWithoutVerdict(reason: NoVerdictReason, requestId: string): Refusal {
  const { status, headers, body } = WITHOUT_VERDICT[reason].answer(requestId);
  return { forward: false, status, headers, body };
}

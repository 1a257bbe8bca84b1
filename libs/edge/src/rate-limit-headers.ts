import { capacityOf, msToMoreQuota, quotaWindowMs, type Decision, type Limit, type LimitReport, type Verdict } from '#limiter';

/** What headers tell of a limit. */
export type ShownLimit = Pick<LimitReport, 'ruleId' | 'limit' | 'decision'>;

/** The headers that tell of limits, as flat lists of names and values. */
export type HeadersOf = (limits: readonly ShownLimit[]) => string[];

/**
 * RateLimit and RateLimit-Policy as in draft-ietf-httpapi-ratelimit-headers-10, Retry-After as in RFC 9110. Flat lists
 * of names and values.
 */
export function rateLimitHeaders(limits: readonly ShownLimit[]): string[] {
  if (limits.length === 0) return [];
  const [first] = limits;
  if (limits.length === 1) {
    const headers = ['RateLimit-Policy', policyOf(first!.limit), 'RateLimit', stateOf(first!.limit, first!.decision)];
    if (first!.decision.overLimit) headers.push(...overLimitHeader(limits));
    return headers;
  }
  const names = policyNames(limits);
  const headers = [
    'RateLimit-Policy',
    limits.map(({ limit }, i) => policyOf(limit, names[i])).join(', '),
    'RateLimit',
    limits.map(({ limit, decision }, i) => stateOf(limit, decision, names[i])).join(', '),
  ];
  headers.push(...overLimitHeader(limits, names));
  return headers;
}

/** Names the soft limits that a request has passed above: no standard has a word for it. */
export function overLimitHeader(limits: readonly ShownLimit[], names = policyNames(limits)): string[] {
  const over = names.filter((_, i) => limits[i]!.decision.overLimit);
  return over.length === 0 ? [] : ['X-RateLimit-Over-Limit', over.map((name) => `"${name}"`).join(', ')];
}

/** Names the route to which a request went because it was over a limit. */
export const REROUTED = 'X-RateLimit-Rerouted';

/** Whole seconds, rounded up, at least 1. Nothing to say if waiting does not help. */
export function retryAfterHeader(retryAfterMs: Verdict['retryAfterMs']): string[] {
  return typeof retryAfterMs === 'number' ? ['Retry-After', String(Math.max(1, Math.ceil(retryAfterMs / 1000)))] : [];
}

/** The names of the limits that refused. */
export function violatedPolicies({ limits }: Verdict): string[] {
  const names = policyNames(limits);
  return names.filter((_, i) => !limits[i]!.decision.allowed);
}

/** Limits of different rules may have one name; then the rule's id tells them apart. */
function policyNames(limits: readonly ShownLimit[]): string[] {
  const names = limits.map(({ limit }) => limit.name);
  return names.map((name, i) => (names.indexOf(name) === names.lastIndexOf(name) ? name : `${name}-${limits[i]!.ruleId}`));
}

const policies = new WeakMap<Limit, string>();

function policyOf(limit: Limit, name = limit.name): string {
  if (name !== limit.name) return policyText(limit, name);
  let policy = policies.get(limit);
  if (policy === undefined) {
    policy = policyText(limit, name);
    policies.set(limit, policy);
  }
  return policy;
}

/** The window is the time in which the whole quota comes back. */
function policyText(limit: Limit, name: string): string {
  if (limit.algorithm === 'concurrency') return `"${name}";q=${limit.limit};qu="concurrent-requests"`;
  return `"${name}";q=${capacityOf(limit)};w=${Math.max(1, Math.ceil(quotaWindowMs(limit) / 1000))}`;
}

/** Milliseconds until there is more for the client; 0 if nothing is missing. */
export function msToMore(limit: Limit, decision: Decision): number {
  // Tokens that refill during a block cannot be taken before its end.
  if (!decision.blocked) return msToMoreQuota(limit, decision);
  return decision.retryAfterMs === 'never' ? 0 : decision.retryAfterMs;
}

function stateOf(limit: Limit, decision: Decision, name = limit.name): string {
  const nextMs = msToMore(limit, decision);
  const state = `"${name}";r=${decision.remaining}`;
  return nextMs === 0 ? state : `${state};t=${Math.ceil(nextMs / 1000)}`;
}

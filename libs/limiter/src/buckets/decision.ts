/** Milliseconds until the same cost would pass, 0 if it passed; `never` if it is above the capacity. */
export type RetryAfter = number | 'never';

/** One bucket's answer. Whole tokens, whole milliseconds. */
export interface Decision {
  readonly allowed: boolean;
  /** The capacity of the bucket. */
  readonly limit: number;
  /** Whole tokens left after the request, or as they are if it was refused. */
  readonly remaining: number;
  readonly retryAfterMs: RetryAfter;
  /** How long until the bucket is full if left alone. */
  readonly resetAfterMs: number;
  /** Only where tokens come back at the steps of a calendar, and some are missing: how long until there are more. */
  readonly nextStepMs?: number;
  /** Only where a request that passes waits its turn: how long. */
  readonly waitMs?: number;
  /** Only where an operator has blocked the bucket: then `retryAfterMs` and `resetAfterMs` say how long that goes on. */
  readonly blocked?: true;
  /** Only where some of the bucket is kept for other requests: how many tokens, which are not among the remaining ones. */
  readonly withheld?: number;
  /** Only for soft and elastic limits: whether the request passed above its limit. */
  readonly overLimit?: boolean;
}

/** How much of a bucket the request may use at once. */
export function usableOf({ limit, withheld }: Pick<Decision, 'limit' | 'withheld'>): number {
  return withheld === undefined ? limit : limit - withheld;
}

/** The merged answer of a request's buckets, with its reason. */
export type Reason =
  | 'allowed'
  | 'no_matching_rule'
  /** It is over a limit, and goes to another route, as the rule says. */
  | 'rerouted'
  | 'over_limit'
  | 'blocked'
  | 'cost_exceeds_capacity'
  | 'store_unavailable'
  /** The request itself is at fault: a rule needs what it does not say. */
  | 'unreadable_body'
  | 'invalid_cost';

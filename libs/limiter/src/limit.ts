/**
 * A limit is one bound of a rule: an algorithm and its numbers. `LimitSpec` is what an administrator writes;
 * `Limit` is the same with the identity and history that keep its live buckets honest across edits.
 */

export const LIMIT_BOUNDS = {
  capacity: { min: 1, max: 1_000_000_000 },
  refillTokens: { min: 1, max: 1_000_000_000 },
  /** One millisecond to one 31-day month. */
  refillIntervalMs: { min: 1, max: 31 * 86_400_000 },
  initialTokens: { min: 0, max: 1_000_000_000 },
  /** A refill is never faster than this: Redis' clock counts microseconds. */
  tokensPerSecond: { max: 1_000_000 },
  /** Ten years: a bucket that takes longer to fill never tells the truth in anyone's lifetime of the rule. */
  timeToFullMs: { max: 10 * 365 * 86_400_000 },
  name: { maxLength: 64, pattern: /^[A-Za-z0-9](?:[A-Za-z0-9 ._-]*[A-Za-z0-9])?$/ },
} as const;

export type Refill = 'greedy' | 'interval';

export interface TokenBucketSpec {
  readonly name: string;
  readonly algorithm: 'token_bucket';
  /** Tokens the bucket holds: the permitted burst. Whole, >= 1. */
  readonly capacity: number;
  /** Tokens that come back in each interval. Whole, >= 1. */
  readonly refillTokens: number;
  readonly refillIntervalMs: number;
  /** `greedy` refills continuously, `interval` in whole steps. */
  readonly refill: Refill;
  /** Level at which the limit starts, if not full. Above capacity it is a launch surplus that drains at the refill rate. */
  readonly initialTokens?: number;
}

export type LimitSpec = TokenBucketSpec;

/** The numbers that a live bucket may still have been written with, before an edit. */
export type PastLimit = Pick<TokenBucketSpec, 'capacity' | 'refillTokens' | 'refillIntervalMs' | 'refill'> & {
  readonly generation: number;
  readonly start: LimitStart;
};

/** A bucket that is missing from a store is one left alone since its limit started: this is the level it started at. */
export interface LimitStart {
  readonly atMs: number;
  readonly tokens: number;
}

export type Limit = LimitSpec & {
  /** Stable within the rule: survives renaming and reordering, is never given to another limit of the same rule. */
  readonly id: number;
  /** Counts the edits of the numbers. Buckets carry it, so that one written under other numbers is recognised. */
  readonly generation: number;
  readonly start: LimitStart;
  /** Former generations, the newest first; as many as live buckets can still carry. */
  readonly previous: readonly PastLimit[];
};

export interface LimitFault {
  readonly field: keyof TokenBucketSpec;
  readonly detail: string;
}

/** Thrown where a limit would be built from numbers that make no bucket. Names every wrong field. */
export class InvalidLimitError extends Error {
  constructor(readonly faults: readonly LimitFault[]) {
    super(faults.map((fault) => `${fault.field}: ${fault.detail}`).join('; '));
    this.name = 'InvalidLimitError';
  }
}

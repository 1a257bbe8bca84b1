import type { Decision } from './decision.js';
import { rateOf } from './exact-span.js';
import {
  greedyAllows, greedyBucket, greedyDecision, greedyLevel, greedySpent, greedyState,
  type GreedyBucket, type GreedyLevel, type GreedyState,
} from './greedy-refill.js';
import {
  intervalBucket, intervalDecision, intervalLevel, intervalState,
  type IntervalBucket, type IntervalLevel, type IntervalState,
} from './interval-refill.js';
import type { Limit, PastLimit } from './limit.js';

/**
 * The token bucket: holds at most `capacity` tokens, gives back `refillTokens` every interval, and lets a request pass
 * that finds its cost in it. Pure: the caller brings state and time and keeps what comes back.
 */

/** A limit made ready for decisions: everything that does not change between two requests is computed once. */
export type TokenBucket = FormerBucket & {
  /** Former numbers, the oldest first, for a bucket that was written before an edit. */
  readonly former: readonly FormerBucket[];
};

export type FormerBucket = (GreedyBucket | IntervalBucket) & {
  readonly generation: number;
  readonly startedAtUs: number;
};

export type BucketState = GreedyState | IntervalState;
export type BucketLevel = GreedyLevel | IntervalLevel;

/** A state as a store keeps it: with the generation of the numbers that it was written with. */
export interface StoredBucket {
  readonly state: BucketState;
  readonly generation: number;
}

export interface Taken {
  readonly state: BucketState;
  readonly decision: Decision;
}

export function tokenBucket(limit: Limit): TokenBucket {
  return {
    ...bucketOf(limit),
    former: limit.previous.map(bucketOf).reverse(),
  };
}

function bucketOf(limit: Limit | PastLimit): FormerBucket {
  const bucket =
    limit.refill === 'greedy'
      ? greedyBucket(limit, rateOf(limit.refillTokens, limit.refillIntervalMs), limit.start)
      : intervalBucket(limit, limit.start);
  return { ...bucket, generation: limit.generation, startedAtUs: limit.start.atMs * 1000 };
}

/**
 * Refills and takes. A missing state means a bucket left alone since its limit started. A refused take returns the
 * state that it was given, or the limit's start.
 */
export function take(bucket: TokenBucket, state: BucketState | undefined, cost: number, nowMs: number): Taken {
  const nowUs = Math.round(nowMs * 1000);
  const before = state ?? bucket.start;
  const level = levelAt(bucket, before, nowUs);
  const allowed = allows(bucket, level, cost);
  return {
    state: allowed ? stateAfter(bucket, level, cost, nowUs) : before,
    decision: decide(bucket, level, cost, allowed),
  };
}

/** What the bucket holds at an instant. */
export function levelAt(bucket: FormerBucket, state: BucketState, nowUs: number): BucketLevel {
  return bucket.refill === 'greedy'
    ? greedyLevel(bucket, state as GreedyState, nowUs)
    : intervalLevel(bucket, state as IntervalState, nowUs);
}

export function allows(bucket: TokenBucket, level: BucketLevel, cost: number): boolean {
  if (bucket.refill === 'greedy') return greedyAllows(bucket, greedySpent(bucket, level as GreedyLevel, cost));
  return cost <= (level as IntervalLevel).tokens;
}

export function stateAfter(bucket: TokenBucket, level: BucketLevel, cost: number, nowUs: number): BucketState {
  if (bucket.refill === 'greedy') return greedyState(greedySpent(bucket, level as GreedyLevel, cost), nowUs);
  const { tokens, sinceStepUs } = level as IntervalLevel;
  return intervalState({ tokens: tokens - cost, sinceStepUs }, nowUs);
}

/** `taken` is false when another limit of the same request refused: then nothing was taken here either. */
export function decide(bucket: TokenBucket, level: BucketLevel, cost: number, taken: boolean): Decision {
  return bucket.refill === 'greedy'
    ? greedyDecision(bucket, level as GreedyLevel, cost, taken)
    : intervalDecision(bucket, level as IntervalLevel, cost, taken);
}

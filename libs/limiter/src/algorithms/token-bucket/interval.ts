import type { Decision } from '../../buckets/decision.js';
import { withStart, type BucketAlgorithm, type LimitBeginning, type PastTake } from '../algorithm.js';
import { roundedUp, wholeAmount } from '../amount.js';
import type { Windows } from '../windows.js';

/**
 * Refill in whole steps: every interval, `refillTokens` at once. The bound of law 1 is wider here by one step, because
 * a burst just before a step may be followed by one just after it: admitted <= capacity + refillTokens * steps in d.
 *
 * Steps are at fixed distances from the start of the limit; or aligned, at the boundaries between windows of the clock or of a calendar.
 */
export interface IntervalState {
  readonly tokens: number;
  /**
   * The last step that was counted, in microseconds; moves from step to step, so that no remainder is lost. Of an aligned bucket it
   * may be the next one after now, where the clock has stepped back behind it: no step is counted twice.
   */
  readonly steppedAtUs: number;
}

/** Tokens at an instant, the last step that was counted, and the time since then: negative if that is still to come. */
export interface IntervalLevel {
  readonly tokens: number;
  readonly steppedAtUs: number;
  readonly sinceStepUs: number;
}

export interface IntervalBucket {
  readonly kind: 'interval';
  readonly capacity: number;
  readonly refillTokens: number;
  /** Microseconds from step to step; 0 where a calendar makes them differ. */
  readonly intervalUs: number;
  /** Aligned steps are where these begin. */
  readonly windows?: Windows;
  /** From step to step of a calendar, at most, but for changes of clocks. */
  readonly longestUs?: number;
  readonly start: IntervalState;
}

export function intervalBucket(refillTokens: number, steps: Steps, beginning: LimitBeginning): IntervalBucket {
  return withStart(intervalBuckets, { kind: 'interval', capacity: beginning.capacity, refillTokens, ...steps }, beginning);
}

/** When the steps are. */
export type Steps = Pick<IntervalBucket, 'intervalUs' | 'windows' | 'longestUs'>;

/** After a step back of the clock the last step was now; an aligned one at most the next, which is not counted again then. */
function clamped(bucket: IntervalBucket, state: IntervalState, nowUs: number): IntervalState {
  const { tokens, steppedAtUs } = state;
  if (steppedAtUs > nowUs) {
    const latestUs = bucket.windows?.around(nowUs).endUs ?? nowUs;
    if (steppedAtUs > latestUs) return { tokens: Math.max(0, tokens), steppedAtUs: latestUs };
  }
  if (tokens >= 0) return state;
  const level = intervalLevel(bucket, state, nowUs);
  return level.tokens >= 0 ? state : { tokens: 0, steppedAtUs: level.steppedAtUs };
}

/** The aligned step at an instant or the last one before it; if steps are not aligned, one is there. */
function stepAt({ windows }: IntervalBucket, atUs: number): number {
  return windows === undefined ? atUs : windows.around(atUs).startUs;
}

/** The steps of a calendar in which an empty bucket fills: no more of them have to be known. */
export function stepsToFull({ capacity, refillTokens }: IntervalBucket): number {
  return Math.max(1, Math.ceil(capacity / refillTokens));
}

/** The steps after an instant, up to another; Infinity for more of a calendar's than fill a bucket. */
function stepsBetween(bucket: IntervalBucket, fromUs: number, toUs: number): number {
  const { windows, intervalUs } = bucket;
  if (windows === undefined) return Math.max(0, Math.floor((toUs - fromUs) / intervalUs));
  let { startUs } = windows.around(toUs);
  if (intervalUs > 0) return Math.max(0, Math.ceil((startUs - fromUs) / intervalUs));
  const most = stepsToFull(bucket);
  let steps = 0;
  for (; startUs > fromUs; startUs = windows.around(startUs - 1).startUs) {
    if (++steps === most) return Infinity;
  }
  return steps;
}

/** When so many more steps have been, after one. */
function stepAfter({ windows, intervalUs }: IntervalBucket, stepUs: number, steps: number): number {
  if (intervalUs > 0) return stepUs + steps * intervalUs;
  let atUs = stepUs;
  for (let i = 0; i < steps; i++) atUs = windows!.around(atUs).endUs;
  return atUs;
}

function intervalLevel(bucket: IntervalBucket, { tokens, steppedAtUs }: IntervalState, nowUs: number): IntervalLevel {
  const steps = stepsBetween(bucket, steppedAtUs, nowUs);
  if (steps === 0) {
    // Of steps that are not aligned the next one is an interval after the first look.
    const atUs = bucket.windows === undefined ? Math.min(steppedAtUs, nowUs) : steppedAtUs;
    return { tokens, steppedAtUs: atUs, sinceStepUs: nowUs - atUs };
  }
  const lastUs = bucket.windows === undefined ? steppedAtUs + steps * bucket.intervalUs : stepAt(bucket, nowUs);
  return { tokens: Math.min(bucket.capacity, tokens + steps * bucket.refillTokens), steppedAtUs: lastUs, sinceStepUs: nowUs - lastUs };
}

function intervalDecision(
  bucket: IntervalBucket & { readonly excess?: number; readonly withheld?: number },
  level: IntervalLevel,
  cost: number,
  taken: boolean,
): Decision {
  const allowed = cost <= level.tokens;
  const remaining = taken ? level.tokens - cost : level.tokens;
  const decision: Decision = {
    allowed,
    limit: bucket.capacity,
    remaining,
    retryAfterMs: allowed ? 0 : cost > bucket.capacity ? 'never' : msUntil(bucket, level, cost - level.tokens),
    resetAfterMs: remaining >= bucket.capacity ? 0 : msUntil(bucket, level, bucket.capacity - remaining),
  };
  if (bucket.intervalUs > 0 || remaining >= bucket.capacity) return decision;
  // What is left of a soft limit's excess, or is kept for others, is not shown as remaining.
  const hidden = (bucket.excess ?? 0) + (bucket.withheld ?? 0);
  return { ...decision, nextStepMs: msUntil(bucket, level, Math.max(1, hidden + 1 - remaining)) };
}

function msUntil(bucket: IntervalBucket, level: IntervalLevel, missing: number): number {
  const atUs = stepAfter(bucket, level.steppedAtUs, Math.ceil(missing / bucket.refillTokens));
  return Math.ceil((atUs - level.steppedAtUs - level.sinceStepUs) / 1000);
}

/** The step before a request. */
export function stepOf({ level }: PastTake<IntervalLevel>): number {
  return level.steppedAtUs;
}

/** What a request took and no step has brought back by itself. */
export function stillOwed(bucket: IntervalBucket, past: PastTake<IntervalLevel>, nowUs: number): number {
  return past.cost - stepsBetween(bucket, stepOf(past), nowUs) * bucket.refillTokens;
}

/** What the steps since have brought has come back by itself. A surplus that was spent stays spent: the next step would end it. */
function intervalRefunded(bucket: IntervalBucket, state: IntervalState, past: PastTake<IntervalLevel>, nowUs: number): IntervalState {
  const { capacity } = bucket;
  if (past.level.tokens > capacity) return state;
  const owed = stillOwed(bucket, past, nowUs);
  return owed > 0 && state.tokens < capacity ? { ...state, tokens: Math.min(capacity, state.tokens + owed) } : state;
}

/** The steps stay where they are. */
function intervalAdjusted(bucket: IntervalBucket, state: IntervalState, tokens: number, nowUs: number): IntervalState {
  const level = intervalLevel(bucket, state, nowUs);
  const moved = level.tokens + tokens;
  return {
    tokens: tokens < 0 ? Math.max(0, moved) : Math.max(level.tokens, Math.min(bucket.capacity, moved)),
    steppedAtUs: level.steppedAtUs,
  };
}

export const intervalBuckets: BucketAlgorithm<IntervalBucket, IntervalState, IntervalLevel> = {
  clamped,
  level: intervalLevel,
  allows: (_bucket, level, cost) => cost <= level.tokens,
  after: (_bucket, _state, { tokens, steppedAtUs }, cost) => ({ tokens: tokens - cost, steppedAtUs }),
  decide: intervalDecision,
  later: (bucket, { tokens, steppedAtUs, sinceStepUs }, us) =>
    intervalLevel(bucket, { tokens, steppedAtUs }, steppedAtUs + sinceStepUs + us),
  refunded: intervalRefunded,
  adjusted: intervalAdjusted,
  missing: (bucket, state, atUs) => wholeAmount(bucket.capacity - intervalLevel(bucket, state, atUs).tokens),
  occupied(bucket, state, lent, atUs) {
    const { tokens, steppedAtUs } = intervalLevel(bucket, state, atUs);
    const most = bucket.capacity - lent;
    return tokens > most ? { tokens: most, steppedAtUs } : state;
  },
  stateMissing: (bucket, missing, atUs) => ({ tokens: bucket.capacity - roundedUp(missing), steppedAtUs: stepAt(bucket, atUs) }),
};

import type { Decision } from '../decision.js';
import type { Algorithm, PastTake } from './algorithm.js';
import { roundedUp, wholeAmount } from './amount.js';

/**
 * Refill in whole steps: every interval, `refillTokens` at once. The bound of law 1 is wider here by one step, because
 * a burst just before a step may be followed by one just after it: admitted <= capacity + refillTokens * steps in d.
 */
export interface IntervalState {
  readonly tokens: number;
  /** The last step that was counted, in microseconds; moves by whole intervals, so that no remainder is lost. */
  readonly steppedAtUs: number;
}

/** Tokens at an instant, and the time since the last step. */
export interface IntervalLevel {
  readonly tokens: number;
  readonly sinceStepUs: number;
}

export interface IntervalBucket {
  readonly kind: 'interval';
  readonly capacity: number;
  readonly refillTokens: number;
  readonly intervalUs: number;
  readonly start: IntervalState;
}

/** Steps fall from `steppedAtUs` on at fixed distances. After a step back of the clock the last step was now. */
function clamped(bucket: IntervalBucket, state: IntervalState, nowUs: number): IntervalState {
  const { tokens, steppedAtUs } = state;
  if (steppedAtUs > nowUs) return { tokens: Math.max(0, tokens), steppedAtUs: nowUs };
  if (tokens >= 0) return state;
  const level = intervalLevel(bucket, state, nowUs);
  return level.tokens >= 0 ? state : intervalState({ ...level, tokens: 0 }, nowUs);
}

function intervalLevel(bucket: IntervalBucket, { tokens, steppedAtUs }: IntervalState, nowUs: number): IntervalLevel {
  const elapsedUs = nowUs - steppedAtUs;
  const steps = Math.floor(elapsedUs / bucket.intervalUs);
  if (steps <= 0) return { tokens, sinceStepUs: Math.max(0, elapsedUs) };
  return {
    tokens: Math.min(bucket.capacity, tokens + steps * bucket.refillTokens),
    sinceStepUs: elapsedUs - steps * bucket.intervalUs,
  };
}

function intervalState(level: IntervalLevel, nowUs: number): IntervalState {
  return { tokens: level.tokens, steppedAtUs: nowUs - level.sinceStepUs };
}

function intervalDecision(bucket: IntervalBucket, level: IntervalLevel, cost: number, taken: boolean): Decision {
  const allowed = cost <= level.tokens;
  const remaining = taken ? level.tokens - cost : level.tokens;
  return {
    allowed,
    limit: bucket.capacity,
    remaining,
    retryAfterMs: allowed ? 0 : cost > bucket.capacity ? null : msUntil(bucket, level, cost - level.tokens),
    resetAfterMs: remaining >= bucket.capacity ? 0 : msUntil(bucket, level, bucket.capacity - remaining),
  };
}

function msUntil(bucket: IntervalBucket, level: IntervalLevel, missing: number): number {
  const steps = Math.ceil(missing / bucket.refillTokens);
  return Math.ceil((steps * bucket.intervalUs - level.sinceStepUs) / 1000);
}

/** The step before a request. */
export function stepOf({ level, takenAtUs }: PastTake<IntervalLevel>): number {
  return takenAtUs - level.sinceStepUs;
}

/** What the steps since have brought has come back by itself. A surplus that was spent stays spent: the next step would end it. */
function intervalRefunded(bucket: IntervalBucket, state: IntervalState, past: PastTake<IntervalLevel>, nowUs: number): IntervalState {
  const { capacity, refillTokens, intervalUs } = bucket;
  if (past.level.tokens > capacity) return state;
  const steps = Math.max(0, Math.floor((nowUs - stepOf(past)) / intervalUs));
  const owed = past.cost - steps * refillTokens;
  return owed > 0 && state.tokens < capacity ? { ...state, tokens: Math.min(capacity, state.tokens + owed) } : state;
}

/** The steps stay where they are. */
function intervalAdjusted(bucket: IntervalBucket, state: IntervalState, tokens: number, nowUs: number): IntervalState {
  const level = intervalLevel(bucket, state, nowUs);
  const moved = level.tokens + tokens;
  return intervalState({ ...level, tokens: tokens < 0 ? Math.max(0, moved) : Math.max(level.tokens, Math.min(bucket.capacity, moved)) }, nowUs);
}

export const intervalRefill: Algorithm<IntervalBucket, IntervalState, IntervalLevel> = {
  clamped,
  level: intervalLevel,
  allows: (_bucket, level, cost) => cost <= level.tokens,
  after: (_bucket, _state, { tokens, sinceStepUs }, cost, nowUs) => intervalState({ tokens: tokens - cost, sinceStepUs }, nowUs),
  decide: intervalDecision,
  refunded: intervalRefunded,
  adjusted: intervalAdjusted,
  missing: (bucket, state, atUs) => wholeAmount(bucket.capacity - intervalLevel(bucket, state, atUs).tokens),
  stateMissing: (bucket, missing, atUs) => ({ tokens: bucket.capacity - roundedUp(missing), steppedAtUs: atUs }),
};

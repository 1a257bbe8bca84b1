import { limitAlgorithm } from './limit-algorithm.js';
import type { Decision } from '../buckets/decision.js';
import { capacityOf, type LimitNumbers, type LimitSpec } from './limit.js';

/**
 * The time in which the whole quota comes back, at most; for slots, if none is released. Never 0: for a bucket of capacity 0 it
 * is the time of one token.
 */
export function quotaWindowMs(limit: LimitSpec | LimitNumbers): number {
  return limitAlgorithm(limit).quotaWindowMs(limit, Math.max(1, capacityOf(limit)));
}

type Pace = NonNullable<ReturnType<NonNullable<ReturnType<typeof limitAlgorithm>['paceOf']>>>;

/** The numbers of a limit never change, and it is asked at each decision. */
const paces = new WeakMap<LimitSpec, Pace | 'none'>();

function paceOf(limit: LimitSpec): Pace | undefined {
  let pace = paces.get(limit);
  if (pace === undefined) paces.set(limit, (pace = limitAlgorithm(limit).paceOf?.(limit) ?? 'none'));
  return pace === 'none' ? undefined : pace;
}

/** Milliseconds until more quota is there than now, at most; 0 if all of it is. */
export function msToMoreQuota(
  limit: LimitSpec,
  { remaining, resetAfterMs, nextStepMs, withheld = 0 }: Pick<Decision, 'remaining' | 'resetAfterMs' | 'nextStepMs' | 'withheld'>,
): number {
  const missing = capacityOf(limit) - withheld - remaining;
  if (missing <= 0) return 0;
  if (nextStepMs !== undefined) return nextStepMs;
  const pace = paceOf(limit);
  return pace === undefined ? resetAfterMs : Math.max(1, resetAfterMs - (Math.ceil(missing / pace.tokens) - 1) * pace.everyMs);
}

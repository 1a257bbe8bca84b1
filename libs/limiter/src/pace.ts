import type { Decision } from './decision.js';
import { capacityOf, type LimitNumbers, type LimitSpec, type TokenBucketSpec } from './limit.js';

/** How the quota of a limit comes back: `tokens` at once, every `everyMs`. */
interface Pace {
  readonly tokens: number;
  readonly everyMs: number;
}

const DAY_MS = 86_400_000;
/** The windows of calendars, the longest that they are but for days of 25 hours. */
export const CALENDAR_MS = {
  minute: 60_000,
  hour: 3_600_000,
  day: DAY_MS,
  week: 7 * DAY_MS,
  month: 31 * DAY_MS,
  year: 366 * DAY_MS,
} as const;

/** Between two refills, at most. */
function intervalOf({ refillIntervalMs, calendar }: Pick<TokenBucketSpec, 'refillIntervalMs' | 'calendar'>): number {
  return refillIntervalMs ?? CALENDAR_MS[calendar!];
}

/** Undefined where it depends on what was taken when. */
function paceOf(limit: LimitSpec): Pace | undefined {
  switch (limit.algorithm) {
    case 'token_bucket':
      return limit.refill === 'interval'
        ? { tokens: limit.refillTokens, everyMs: intervalOf(limit) }
        : { tokens: 1, everyMs: intervalOf(limit) / limit.refillTokens };
    case 'gcra':
      return { tokens: 1, everyMs: limit.refillIntervalMs / limit.refillTokens };
    case 'leaky_bucket':
      return { tokens: 1, everyMs: limit.drainIntervalMs / limit.drainTokens };
    default:
      return undefined;
  }
}

/**
 * The time in which the whole quota comes back, at most; for slots, if none is released. Never 0: for a bucket of capacity 0 it
 * is the time of one token.
 */
export function quotaWindowMs(limit: LimitSpec | LimitNumbers): number {
  const tokens = Math.max(1, capacityOf(limit));
  switch (limit.algorithm) {
    case 'token_bucket':
      return (tokens * intervalOf(limit)) / limit.refillTokens;
    case 'gcra':
      return (tokens * limit.refillIntervalMs) / limit.refillTokens;
    case 'leaky_bucket':
      return (tokens * limit.drainIntervalMs) / limit.drainTokens;
    case 'fixed_window':
      return limit.windowMs ?? CALENDAR_MS[limit.calendar!];
    case 'sliding_log':
    case 'sliding_counter':
      return limit.windowMs;
    case 'concurrency':
      return limit.slotTimeoutMs;
  }
}

/** Milliseconds until more quota is there than now, at most; 0 if all of it is. */
export function msToMoreQuota(
  limit: LimitSpec,
  { remaining, resetAfterMs, nextStepMs }: Pick<Decision, 'remaining' | 'resetAfterMs' | 'nextStepMs'>,
): number {
  const missing = capacityOf(limit) - remaining;
  if (missing <= 0) return 0;
  if (nextStepMs !== undefined) return nextStepMs;
  const pace = paceOf(limit);
  return pace === undefined ? resetAfterMs : Math.max(1, resetAfterMs - (Math.ceil(missing / pace.tokens) - 1) * pace.everyMs);
}

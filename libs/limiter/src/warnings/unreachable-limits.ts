import type { CalendarUnit } from '../fields/common-fields.js';
import { capacityOf, excessOf, type LimitSpec } from '../limits/limit.js';
import { type AdmissionBound, admissionBound } from './admission-bound.js';

/**
 * Whether a limit never refuses what a stricter one of the same rule admits: all limits of a rule have one key and one cost, so both see the same requests.
 * True only where it can be proven for limits that began together; edits and refunds may make it untrue for a while.
 */
export function isUnreachable(limit: LimitSpec, stricter: LimitSpec): boolean {
  if (capacityOf(stricter) === 0 || startsShort(limit)) return false;
  return isSameWindow(limit, stricter) || neverRefuses(limit, stricter);
}

/** A limit that starts with less than it holds refuses at its start. */
function startsShort(limit: LimitSpec): boolean {
  return limit.algorithm === 'token_bucket' && limit.initialTokens !== undefined && limit.initialTokens < limit.capacity;
}

function neverRefuses(limit: LimitSpec, stricter: LimitSpec): boolean {
  const bound = admissionBound(stricter);
  if (bound === undefined) return false;
  // A soft or an elastic limit says that a request is over it before it refuses one: that makes a difference too.
  const holds = BigInt(capacityOf(limit));
  switch (limit.algorithm) {
    case 'token_bucket': {
      if (limit.refillIntervalMs === undefined) return false;
      const steps = limit.refill === 'interval' ? BigInt(limit.refillTokens) : 0n;
      return keepsUp(bound, holds - steps, limit.refillTokens, limit.refillIntervalMs);
    }
    case 'gcra':
      return keepsUp(bound, holds, limit.refillTokens, limit.refillIntervalMs);
    case 'leaky_bucket':
      // A queue delays what it admits.
      return limit.onLimit === undefined && keepsUp(bound, holds, limit.drainTokens, limit.drainIntervalMs);
    case 'fixed_window':
      return bound.mostWithin(limit.windowMs ?? LONGEST_MS[limit.calendar!]) <= holds;
    case 'sliding_log':
      return bound.mostWithin(limit.windowMs) <= holds;
    case 'sliding_counter': {
      // The part that is leaving the window counts too: a window and a part of requests, in two pieces, and rounding.
      const { burst } = bound.line;
      return bound.mostWithin(limit.windowMs + Math.ceil(limit.windowMs / limit.parts)) + burst + 1n <= holds;
    }
    // Of the others nothing is known that could be proven.
    default:
      return false;
  }
}

/** Whether a bucket that refills so fast always has room for what arrives. */
function keepsUp({ line }: AdmissionBound, holds: bigint, tokens: number, everyMs: number): boolean {
  return line.burst <= holds && line.tokens * BigInt(everyMs) <= BigInt(tokens) * line.everyMs;
}

/** Both count the same requests in the same windows, or in windows of which the wider ones consist. */
function isSameWindow(limit: LimitSpec, stricter: LimitSpec): boolean {
  if (stricter.throttle === 'elastic') return false;
  const holds = capacityOf(limit);
  const most = capacityOf(stricter) + excessOf(stricter);
  switch (limit.algorithm) {
    case 'fixed_window': {
      if (stricter.algorithm !== 'fixed_window' || limit.start !== 'clock' || stricter.start !== 'clock') return false;
      if (limit.windowMs !== undefined && stricter.windowMs !== undefined) {
        return limit.windowMs % stricter.windowMs === 0 && most * (limit.windowMs / stricter.windowMs) <= holds;
      }
      const windows = windowsWithin(limit.calendar, stricter.calendar);
      return windows !== undefined && limit.timeZone === stricter.timeZone && most * windows <= holds;
    }
    case 'sliding_counter':
      return (
        stricter.algorithm === 'sliding_counter' && limit.windowMs === stricter.windowMs && limit.parts === stricter.parts && most <= holds
      );
    case 'concurrency':
      // A slot that is freed earlier here than there is free here whenever it is there.
      return stricter.algorithm === 'concurrency' && limit.slotTimeoutMs <= stricter.slotTimeoutMs && most <= holds;
    default:
      return false;
  }
}

/** How many windows of one unit there are in another at most, where the larger one begins when a smaller one begins. */
function windowsWithin(unit: CalendarUnit | undefined, part: CalendarUnit | undefined): number | undefined {
  if (unit === undefined || part === undefined) return undefined;
  return unit === part ? 1 : WINDOWS[`${part} in ${unit}`];
}

const WINDOWS: Readonly<Record<string, number>> = {
  'day in week': 7,
  'day in month': 31,
  'day in year': 366,
  'month in year': 12,
};

const HOUR_MS = 3_600_000;
/** How long a window of the calendar lasts at most: clocks are set back, and once a place has had the same day twice. */
const LONGEST_MS: Readonly<Record<CalendarUnit, number>> = {
  minute: 2 * HOUR_MS,
  hour: 3 * HOUR_MS,
  day: 50 * HOUR_MS,
  week: (7 * 24 + 26) * HOUR_MS,
  month: (31 * 24 + 26) * HOUR_MS,
  year: (366 * 24 + 26) * HOUR_MS,
};

import { withStart, type BucketAlgorithm, type LimitAlgorithm, type PastTake } from '../algorithm.js';
import { roundedUp, wholeAmount } from '../amount.js';
import { CALENDAR_MS, calendarWindows } from '../calendar.js';
import { takable, windowAllows, windowDecision, windowLater, type WindowLevel } from '../window-level.js';
import { equalWindows, type WindowBounds, type Windows } from '../windows.js';
import { FIXED_WINDOW, type FixedWindowSpec, type WindowStart } from './fields.js';

/**
 * Counts requests in windows that follow one another; each begins with nothing used. Cheap and easy to explain, and open to
 * twice the limit around a boundary: a whole one just before it, a whole one just after.
 */
export interface FixedWindowState {
  readonly startUs: number;
  readonly used: number;
  /**
   * Only after the clock stepped back out of a window: what had been used in it counts until one window later, whatever the windows
   * of the clock or the calendar are. Without it a clock that trembles around a boundary would bring a new window with each step.
   */
  readonly held?: Held;
}

interface Held {
  readonly used: number;
  readonly untilUs: number;
}

export interface FixedWindowBucket {
  readonly kind: 'fixed_window';
  readonly capacity: number;
  readonly start: FixedWindowState;
  readonly startsWith: WindowStart;
  readonly windows: Windows;
}

function clamped(bucket: FixedWindowBucket, state: FixedWindowState, nowUs: number): FixedWindowState {
  const { startUs, used, held } = state;
  const isEarly = startUs > nowUs && used > 0;
  if (bucket.startsWith === 'first_request') return isEarly ? { startUs: nowUs, used } : state;
  if (!isEarly && (held === undefined || held.untilUs <= nowUs)) return state;
  const window = bucket.windows.around(nowUs);
  const untilUs = nowUs + window.endUs - window.startUs;
  if (!isEarly) return held!.untilUs > untilUs ? { startUs, used, held: { used: held!.used, untilUs } } : state;
  return { startUs: window.startUs, used: 0, held: { used: Math.min(bucket.capacity, used + usedBefore(held, nowUs)), untilUs } };
}

/** What counts of what was used before the clock stepped back. */
function usedBefore(held: Held | undefined, nowUs: number): number {
  return held !== undefined && nowUs < held.untilUs ? held.used : 0;
}

/** The window in force, and what was used in it. */
function inForce(bucket: FixedWindowBucket, state: FixedWindowState, nowUs: number): WindowBounds & { readonly used: number } {
  if (bucket.startsWith === 'first_request') {
    const { lengthUs } = bucket.windows;
    const running = state.used > 0 && nowUs < state.startUs + lengthUs;
    const startUs = running ? state.startUs : nowUs;
    return { startUs, endUs: startUs + lengthUs, used: running ? state.used : 0 };
  }
  const { startUs, endUs } = bucket.windows.around(nowUs);
  return { startUs, endUs, used: state.startUs >= startUs ? state.used : 0 };
}

/** The start of the window that a request was counted in. */
export function windowOfTake({ windows }: FixedWindowBucket, { level, takenAtUs }: PastTake<WindowLevel>): number {
  const endUs = takenAtUs + level.resetAfterTakingUs;
  return windows.lengthUs > 0 ? endUs - windows.lengthUs : windows.around(endUs - 1).startUs;
}

/** Whether a request opened the window that it was counted in. */
export function opensWindow({ startsWith }: FixedWindowBucket, startUs: number, takenAtUs: number): boolean {
  return startsWith === 'first_request' && takenAtUs === startUs;
}

/** A window that was opened by a request and has others in it goes on as it is: without that request it would last longer. */
function refunded(bucket: FixedWindowBucket, state: FixedWindowState, past: PastTake<WindowLevel>): FixedWindowState {
  const startUs = windowOfTake(bucket, past);
  if (state.startUs !== startUs) return state;
  if (state.used > past.cost && opensWindow(bucket, startUs, past.takenAtUs)) return state;
  return { ...state, used: Math.max(0, state.used - past.cost) };
}

/** What is taken counts in the window in force. What is added comes out of it first, then out of what counts from before a step back of the clock. */
function adjusted(bucket: FixedWindowBucket, state: FixedWindowState, tokens: number, nowUs: number): FixedWindowState {
  const { startUs, used } = inForce(bucket, state, nowUs);
  const before = usedBefore(state.held, nowUs);
  const now = tokens < 0 ? used + takable(bucket, used + before, -tokens) : Math.max(0, used - tokens);
  const left = tokens < 0 ? before : Math.max(0, before - Math.max(0, tokens - used));
  return left > 0 ? { startUs, used: now, held: { used: left, untilUs: state.held!.untilUs } } : { startUs, used: now };
}

export const fixedWindowBuckets: BucketAlgorithm<FixedWindowBucket, FixedWindowState, WindowLevel> = {
  clamped,
  level(bucket, state, nowUs, cost) {
    const { endUs, used } = inForce(bucket, state, nowUs);
    const leftUs = endUs - nowUs;
    const before = usedBefore(state.held, nowUs);
    if (before === 0) {
      return { used, retryUs: used + cost <= bucket.capacity ? 0 : leftUs, resetUs: used === 0 ? 0 : leftUs, resetAfterTakingUs: leftUs };
    }
    const heldUs = state.held!.untilUs - nowUs;
    const lastUs = Math.max(leftUs, heldUs);
    const firstIsEnough = (heldUs < leftUs ? used : before) + cost <= bucket.capacity;
    return {
      used: used + before,
      retryUs: used + before + cost <= bucket.capacity ? 0 : firstIsEnough ? Math.min(leftUs, heldUs) : lastUs,
      resetUs: used === 0 ? heldUs : lastUs,
      resetAfterTakingUs: lastUs,
    };
  },
  allows: windowAllows,
  after(bucket, state, _level, cost, nowUs) {
    const { startUs, used } = inForce(bucket, state, nowUs);
    const taken = { startUs, used: used + cost };
    return usedBefore(state.held, nowUs) > 0 ? { ...taken, held: state.held! } : taken;
  },
  decide: windowDecision,
  later: windowLater,
  refunded,
  adjusted,
  missing: (bucket, state, atUs) => wholeAmount(inForce(bucket, state, atUs).used + usedBefore(state.held, atUs)),
  occupied(bucket, state, tokens, atUs) {
    const { startUs, used } = inForce(bucket, state, atUs);
    const before = usedBefore(state.held, atUs);
    return used + before < tokens ? { ...state, startUs, used: tokens - before } : state;
  },
  leasesEndUs: (bucket, state, nowUs) => inForce(bucket, state, nowUs).endUs,
  stateMissing(bucket, missing, atUs) {
    const startUs = bucket.startsWith === 'first_request' ? atUs : bucket.windows.around(atUs).startUs;
    return { startUs, used: Math.min(bucket.capacity, Math.max(0, roundedUp(missing))) };
  },
};

/**
 * Promises at most the limit in each of its windows: from one boundary to the next, or from the first request on. Over any other time
 * of that length, up to twice as many.
 */
export const fixedWindow: LimitAlgorithm<FixedWindowSpec, FixedWindowBucket, typeof FIXED_WINDOW> = {
  table: FIXED_WINDOW,
  bucketOf({ windowMs, calendar, timeZone, start }, beginning) {
    const windows = calendar === undefined ? equalWindows(windowMs! * 1000) : calendarWindows(calendar, timeZone ?? beginning.timeZone);
    return withStart(fixedWindowBuckets, { kind: 'fixed_window', capacity: beginning.capacity, startsWith: start, windows }, beginning);
  },
  quotaWindowMs: ({ windowMs, calendar }) => windowMs ?? CALENDAR_MS[calendar!],
};

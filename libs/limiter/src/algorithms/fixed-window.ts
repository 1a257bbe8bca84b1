import type { WindowStart } from '../limit.js';
import type { Algorithm, PastTake } from './algorithm.js';
import { windowAllows, windowDecision, type WindowLevel } from './window-decision.js';

/**
 * Counts requests in windows that follow one another; each begins with nothing used. Cheap and easy to explain, and open to
 * twice the limit around a boundary: a whole one just before it, a whole one just after.
 */
export interface FixedWindowState {
  readonly startUs: number;
  readonly used: number;
}

export interface FixedWindowBucket {
  readonly kind: 'fixed_window';
  readonly limit: number;
  readonly start: FixedWindowState;
  readonly startsWith: WindowStart;
  readonly windows: Windows;
}

/** How time is cut into windows. */
export interface Windows {
  /** The length of all windows in microseconds; 0 where a calendar makes them differ. */
  readonly lengthUs: number;
  /** The window that holds an instant: its first microsecond, and the first of the next. */
  around(nowUs: number): WindowBounds;
}

export interface WindowBounds {
  readonly startUs: number;
  readonly endUs: number;
}

/** Windows of one length, counted from 1970. */
export function equalWindows(lengthUs: number): Windows {
  return {
    lengthUs,
    around(nowUs) {
      const startUs = Math.floor(nowUs / lengthUs) * lengthUs;
      return { startUs, endUs: startUs + lengthUs };
    },
  };
}

/**
 * The window in force, and what was used in it. A state from the future, after the clock stepped back, counts in the window
 * of now: it neither forgets what was used nor locks the bucket for longer than a window.
 */
function inForce(bucket: FixedWindowBucket, state: FixedWindowState, nowUs: number): WindowBounds & { readonly used: number } {
  if (bucket.startsWith === 'first_request') {
    const { lengthUs } = bucket.windows;
    const running = state.used > 0 && nowUs < state.startUs + lengthUs;
    const startUs = running ? Math.min(state.startUs, nowUs) : nowUs;
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
  return { startUs, used: Math.max(0, state.used - past.cost) };
}

export const fixedWindow: Algorithm<FixedWindowBucket, FixedWindowState, WindowLevel> = {
  level(bucket, state, nowUs, cost) {
    const { endUs, used } = inForce(bucket, state, nowUs);
    const leftUs = endUs - nowUs;
    return {
      used,
      retryUs: used + cost <= bucket.limit ? 0 : leftUs,
      resetUs: used === 0 ? 0 : leftUs,
      resetAfterTakingUs: leftUs,
    };
  },
  allows: windowAllows,
  after(bucket, state, { used }, cost, nowUs) {
    return { startUs: inForce(bucket, state, nowUs).startUs, used: used + cost };
  },
  decide: windowDecision,
  refunded,
  available: (bucket, state, nowUs) => bucket.limit - inForce(bucket, state, nowUs).used,
  stateWith(bucket, tokens, nowUs) {
    const startUs = bucket.startsWith === 'first_request' ? nowUs : bucket.windows.around(nowUs).startUs;
    return { startUs, used: Math.max(0, bucket.limit - Math.floor(tokens)) };
  },
};

/**
 * When requests are made: as often as they are answered, or at a steady rate by callers who do not know of each other, as in a Poisson process.
 * A request counts from when it was asked; but one for which every connection was still busy counts from when it was due, so that a slow server is not asked less and
 * then found fast. Where the generator itself did not run in time the server is not to blame, and how late it was is told beside the figure.
 */
import { Latencies } from './latencies.mjs';

/** A timer of Node is a millisecond or two: so many requests at once would wait for each other. */
const LONGEST_SLEEP_MS = 0.1;
/** What cannot be asked for so long is not made up for: the server does not bear the rate, and the answers a second show it. */
const BACKLOG_MS = 1000;

/** Which requests are due, as a function of time. */
export class Schedule {
  #meanGapMs;
  #random;
  #dueMs;
  /** Until when the requests were due that found every connection busy. */
  #blockedMs = -Infinity;

  /** @param {number} perSecond @param {number} startMs @param {() => number} random 0 to 1, without 1 */
  constructor(perSecond, startMs, random) {
    this.#meanGapMs = 1000 / perSecond;
    this.#random = random;
    this.#dueMs = startMs;
  }

  /** When the next request is due. */
  get dueMs() {
    return this.#dueMs;
  }

  /**
   * Takes the next request that is due.
   * @param {number} nowMs
   * @returns {{ sinceMs: number, lateMs: number | undefined } | undefined} from when it counts, and how late the generator is with it; undefined if none is due
   */
  take(nowMs) {
    const dueMs = this.#dueMs;
    if (dueMs > nowMs) return undefined;
    this.#dueMs = Math.max(dueMs, nowMs - BACKLOG_MS) - Math.log(1 - this.#random()) * this.#meanGapMs;
    return dueMs <= this.#blockedMs ? { sinceMs: dueMs, lateMs: undefined } : { sinceMs: nowMs, lateMs: nowMs - dueMs };
  }

  /** Until now every connection was busy. @param {number} nowMs */
  blocked(nowMs) {
    this.#blockedMs = nowMs;
  }
}

/** How much later than it was due each request was asked, of those that had a connection. */
let lateness = new Latencies();

/** Forgets what was late until now. */
export function forgetLateness() {
  lateness = new Latencies();
}

/** In milliseconds; undefined where no rate was to be kept. @param {number} q 0 to 1 */
export const latenessAt = (q) => (lateness.count > 0 ? lateness.quantile(q) : undefined);

/**
 * @param {{ perSecond?: number, isOver: () => boolean }} settings
 * @returns {(ask: (sinceMs: number) => void) => void} asks when it is time for it, and says from when the request counts
 */
export function inTurn({ perSecond = Infinity, isOver }) {
  if (perSecond === Infinity) return (ask) => ask(performance.now());
  /** Connections that wait until the next request is due. @type {((sinceMs: number) => void)[]} */
  const free = [];
  const schedule = new Schedule(perSecond, performance.now(), Math.random);
  /** Whether every connection is busy: then there is nothing to do until one has its answer, and the core is left to others. */
  let idle = true;
  const askWhatIsDue = () => {
    const nowMs = performance.now();
    while (free.length > 0) {
      const request = schedule.take(nowMs);
      if (request === undefined) return;
      if (request.lateMs !== undefined) lateness.add(request.lateMs);
      free.shift()?.(request.sinceMs);
    }
  };
  const never = new Int32Array(new SharedArrayBuffer(4));
  const turn = () => {
    if (isOver()) return;
    askWhatIsDue();
    idle = free.length === 0;
    // What was asked is written, and what has arrived is read, before each sleep.
    if (!idle) setImmediate(sleep);
  };
  const sleep = () => {
    Atomics.wait(never, 0, 0, Math.max(0, Math.min(LONGEST_SLEEP_MS, schedule.dueMs - performance.now())));
    setImmediate(turn);
  };
  return (ask) => {
    free.push(ask);
    if (!idle) return;
    idle = false;
    schedule.blocked(performance.now());
    setImmediate(turn);
  };
}

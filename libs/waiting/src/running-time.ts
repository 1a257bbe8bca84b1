import { InFlightSet, NOWHERE, type InFlight } from './in-flight-set.js';

/** How often the clock is read while something is waited for. Milliseconds. */
export const BEAT_MS = 5;

/** What one beat counts at most: the timer of an idle process fires up to a millisecond late. */
const MOST_IN_A_BEAT_MS = BEAT_MS + 1;

/** A timer of an idle machine is hardly later than that. */
const PUNCTUAL_MS = 2;
/** A process that has to wait for a core sees a part of the waiting only, and others may wait longer. */
const PATIENCE = 4;
/** However busy the machine is, a deadline is extended by this share of itself at most: a take of 25 ms ends within 33, and its request within 50. */
const MOST_EXTENSION = 0.1;
/** How soon a busy machine is half forgotten. */
const HALF_LIFE_MS = 500;

/** Where a RunningTime gets its beats from. Replaced in tests. */
export interface Heart {
  /** Milliseconds that never step back. */
  now(): number;
  /** Milliseconds of a core that this process has used. */
  used(): number;
  /** Calls back when `ms` have passed and what had arrived by then in the sockets of this process has been read. */
  beatAfter(ms: number, beat: () => void): void;
}

const EVENT_LOOP: Heart = {
  now: () => performance.now(),
  used: () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  },
  // Timers fire before the sockets are read, immediates after it.
  beatAfter: (ms, beat) => void setTimeout(() => void setImmediate(beat), ms),
};

interface Wait extends InFlight {
  readonly sinceMs: number;
  readonly ms: number;
  readonly callback: () => void;
}

/**
 * The clock of all deadlines for others: it counts the time in which this process could have read an answer. A process that
 * compiles, collects garbage or waits for a busy core reads nothing, and an answer that lies unread in its socket is not late.
 *
 * A timer beats every few milliseconds while something is waited for. However late a beat comes, it counts as one that came in time, and
 * before it is counted the sockets are read. On an idle machine this is the time of every other clock, in steps of a beat.
 *
 * A beat that is late although the process did not compute means that it had to wait for a core. Where all run on one machine, so
 * may the process that is to answer, and a deadline of milliseconds then says nothing about its health: it is extended by a multiple of
 * what this process itself had to wait lately.
 */
export class RunningTime {
  private countedMs = 0;
  private lastBeatMs = 0;
  private usedAtLastBeatMs = 0;
  /** The longest wait for a core, fading. */
  private starvedMs = 0;
  private beating = false;
  private readonly waits = new InFlightSet<Wait>();

  constructor(private readonly heart: Heart = EVENT_LOOP) {}

  /** Milliseconds since some moment; stands still while nothing is waited for. */
  get nowMs(): number {
    const sinceBeatMs = this.heart.now() - this.lastBeatMs;
    // A clock that stands still begins with a beat of its own, unless the last one was just now.
    return !this.beating && sinceBeatMs >= BEAT_MS ? this.countedMs : this.countedMs + Math.min(sinceBeatMs, MOST_IN_A_BEAT_MS);
  }

  /** Whether, as of the last beat, at least `ms` have passed since `nowMs` was `sinceMs`: in two beats at least, because one may come after any time. */
  passed(sinceMs: number, ms: number): boolean {
    const passedMs = this.countedMs - sinceMs;
    return passedMs > MOST_IN_A_BEAT_MS && passedMs >= ms + Math.min(PATIENCE * this.starvedMs, MOST_EXTENSION * ms);
  }

  /** Calls back once `ms` have passed; 0: at the next beat. Returns what calls it off. */
  after(ms: number, callback: () => void): () => void {
    const wait = { sinceMs: this.nowMs, ms, callback, place: NOWHERE };
    this.waits.add(wait);
    if (!this.beating) this.startBeating();
    return () => void this.waits.delete(wait);
  }

  private startBeating(): void {
    this.beating = true;
    const nowMs = this.heart.now();
    const sinceBeatMs = nowMs - this.lastBeatMs;
    // Soon after a beat its rhythm goes on, because asking the system what this process has used costs more than most requests' waits.
    if (sinceBeatMs >= BEAT_MS) {
      this.starvedMs *= faded(sinceBeatMs);
      this.lastBeatMs = nowMs;
      this.usedAtLastBeatMs = this.heart.used();
    }
    this.heart.beatAfter(this.lastBeatMs + BEAT_MS - nowMs, this.beat);
  }

  private readonly beat = (): void => {
    this.count(this.heart.now(), this.heart.used());
    for (const wait of this.waits.now()) {
      if (wait.ms > 0 && !this.passed(wait.sinceMs, wait.ms)) continue;
      // One that was called off by an earlier one of this beat is no longer there.
      if (this.waits.delete(wait)) wait.callback();
    }
    this.beating = this.waits.size > 0;
    if (this.beating) this.heart.beatAfter(BEAT_MS, this.beat);
  };

  private count(nowMs: number, usedMs: number): void {
    const tookMs = nowMs - this.lastBeatMs;
    const starvedMs = tookMs - BEAT_MS - PUNCTUAL_MS - (usedMs - this.usedAtLastBeatMs);
    this.starvedMs = Math.max(starvedMs, this.starvedMs * faded(tookMs));
    this.countedMs += Math.min(tookMs, MOST_IN_A_BEAT_MS);
    this.lastBeatMs = nowMs;
    this.usedAtLastBeatMs = usedMs;
  }
}

function faded(ms: number): number {
  return 0.5 ** (ms / HALF_LIFE_MS);
}

/** The one of this process. */
export const runningTime = new RunningTime();

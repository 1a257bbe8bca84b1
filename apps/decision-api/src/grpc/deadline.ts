import { GrpcCode, GrpcError } from './grpc-error.js';

/** Timers of one length cost node little, so there are few lengths. */
const TIMER_STEP_MS = 10;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export function deadlinePassed(): GrpcError {
  return new GrpcError(GrpcCode.DeadlineExceeded, 'the deadline has passed', 'deadline.passed');
}

/** Until when a caller waits for an answer. Its timer may be late by a step. */
export class Deadline {
  private readonly atMs: number;
  private readonly timer: NodeJS.Timeout | undefined;
  private isFound = false;

  /** @param onPassed unless it is cleared before */
  constructor(withinMs: number, onPassed: () => void) {
    // Running time: a clock that is set ends no call.
    this.atMs = withinMs === Infinity ? Infinity : performance.now() + withinMs;
    const timerMs = Math.min(Math.ceil(withinMs / TIMER_STEP_MS) * TIMER_STEP_MS, LONGEST_TIMER_MS);
    this.timer = withinMs === Infinity ? undefined : setTimeout(onPassed, timerMs);
  }

  get hasPassed(): boolean {
    this.isFound ||= this.atMs !== Infinity && performance.now() >= this.atMs;
    return this.isFound;
  }

  /** Whether somebody has asked and heard that it has passed: what was taken may have been given back for that, and must not be answered as taken. */
  get wasFoundPassed(): boolean {
    return this.isFound;
  }

  clear(): void {
    clearTimeout(this.timer);
  }
}

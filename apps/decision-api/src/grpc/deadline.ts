/** Timers of one length cost node little, so there are few lengths. */
const TIMER_STEP_MS = 10;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Until when a caller waits for an answer. */
export class Deadline {
  private readonly atMs: number;
  private readonly timer: NodeJS.Timeout | undefined;

  /** @param onPassed unless it is cleared before */
  constructor(withinMs: number, onPassed: () => void) {
    // Running time: a clock that is set ends no call.
    this.atMs = withinMs === Infinity ? Infinity : performance.now() + withinMs;
    const timerMs = Math.min(Math.ceil(withinMs / TIMER_STEP_MS) * TIMER_STEP_MS, LONGEST_TIMER_MS);
    this.timer = withinMs === Infinity ? undefined : setTimeout(onPassed, timerMs);
  }

  get hasPassed(): boolean {
    return this.atMs !== Infinity && performance.now() >= this.atMs;
  }

  clear(): void {
    clearTimeout(this.timer);
  }
}

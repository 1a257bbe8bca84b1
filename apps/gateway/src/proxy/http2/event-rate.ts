const WINDOW_MS = 1_000;

/** Counts something that may happen so often in a second, and no more. */
export class EventRate {
  private startedAtMs = -Infinity;
  private count = 0;

  constructor(private readonly most: number) {}

  /** Counts one. True: it is too many. */
  exceeded(nowMs: number): boolean {
    if (nowMs - this.startedAtMs >= WINDOW_MS) {
      this.startedAtMs = nowMs;
      this.count = 0;
    }
    return ++this.count > this.most;
  }
}

/** How often the clock ticks. Milliseconds. */
export const TICK_MS = 100;

/** What a tick counts at most. */
const MOST_IN_A_TICK_MS = 1.1 * TICK_MS;

/**
 * One timer for the deadlines of all exchanges, as a timer each would cost every request something. It counts time in which
 * this process ran: a tick that comes late counts as one that came in time, and the sockets are read before it. So no client is
 * called slow for bytes that lay unread in their socket while the gateway collected garbage or waited for a core.
 */
export class CoarseClock {
  /** Milliseconds since some moment, as of the last tick. */
  nowMs = 0;

  private lastTickMs = performance.now();
  private timer: NodeJS.Timeout | undefined;

  /** @param onTick told how much time has passed since the last one */
  start(onTick: (elapsedMs: number) => void): void {
    const tick = (): void => {
      if (this.timer === undefined) return;
      const nowMs = performance.now();
      const elapsedMs = Math.min(nowMs - this.lastTickMs, MOST_IN_A_TICK_MS);
      this.lastTickMs = nowMs;
      this.nowMs += elapsedMs;
      try {
        onTick(elapsedMs);
      } finally {
        schedule();
      }
    };
    const schedule = (): void => {
      // Timers fire before the sockets are read, immediates after it.
      if (this.timer !== undefined) this.timer = setTimeout(() => setImmediate(tick), TICK_MS).unref();
    };
    this.lastTickMs = performance.now();
    this.timer = setTimeout(() => setImmediate(tick), TICK_MS).unref();
  }

  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }
}

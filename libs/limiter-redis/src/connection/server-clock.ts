import type { Clock } from '#limiter';

/**
 * What time it is at the server, as far as that is known here. Between two answers it goes on by a clock of this process that nobody can set: when the clock
 * of this machine is set, nothing that is decided here meanwhile becomes older or younger.
 */
export class ServerClock {
  /** By how much the clock of the server is ahead of performance.now(); undefined until it has answered. */
  private aheadMs: number | undefined;

  /** @param replaced instead of the clock of the server. For tests and replays. */
  constructor(private readonly replaced: Clock | undefined) {}

  /** By how much the clock of Redis is ahead of this machine's. Milliseconds, as exact as the way to Redis is short. */
  get offsetMs(): number {
    return this.aheadMs === undefined ? 0 : performance.now() + this.aheadMs - Date.now();
  }

  get nowMs(): number {
    return this.replaced?.() ?? Date.now() + this.offsetMs;
  }

  /** Whether a script is to go by the time that it is told. */
  get ofScripts(): 'given' | 'of server' {
    return this.replaced ? 'given' : 'of server';
  }

  /** In whole microseconds, as a script is told; '' for the clock of the server. */
  get given(): string {
    return this.replaced ? String(Math.round(this.replaced() * 1000)) : '';
  }

  /**
   * @param atUs what time it was at the server, negative if Redis was full
   * @param sentMs when it was asked, by performance.now()
   */
  heard(atUs: number, sentMs: number): void {
    if (!this.replaced) this.aheadMs = Math.abs(atUs) / 1000 - (sentMs + performance.now()) / 2;
  }
}

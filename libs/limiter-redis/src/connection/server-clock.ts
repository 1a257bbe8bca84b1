import type { Clock } from '#limiter';

/** What time it is at the server, as far as that is known here. */
export class ServerClock {
  private offset = 0;

  /** @param replaced instead of the clock of the server. For tests and replays. */
  constructor(private readonly replaced: Clock | undefined) {}

  /** By how much the clock of Redis is ahead of this machine's. Milliseconds, as exact as the way to Redis is short. */
  get offsetMs(): number {
    return this.offset;
  }

  get nowMs(): number {
    return this.replaced?.() ?? Date.now() + this.offset;
  }

  /** Whether a script is to go by the time that it is told. */
  get ofScripts(): 'given' | 'of server' {
    return this.replaced ? 'given' : 'of server';
  }

  /** In whole microseconds, as a script is told; '' for the clock of the server. */
  get given(): string {
    return this.replaced ? String(Math.round(this.replaced() * 1000)) : '';
  }

  /** @param atUs what time it was at the server, negative if Redis was full */
  heard(atUs: number, sentAtMs: number): void {
    if (!this.replaced) this.offset = Math.abs(atUs) / 1000 - (sentAtMs + Date.now()) / 2;
  }
}

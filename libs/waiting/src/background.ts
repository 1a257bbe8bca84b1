import { setTimeout as sleep } from 'node:timers/promises';

/** Waits for so many milliseconds, or until the signal aborts. Never rejects. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> => sleep(ms, undefined, { signal }).catch(() => undefined);

/** Work that goes on beside everything else until it is stopped. */
export class Background {
  private readonly stopping = new AbortController();
  private running: Promise<void> | undefined;

  /** @param work ends soon after its signal has aborted */
  constructor(private readonly work: (signal: AbortSignal) => Promise<void>) {}

  /** Does nothing if it was started before. */
  start(): void {
    this.running ??= this.work(this.stopping.signal);
  }

  /** Resolves when the work has ended. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }
}

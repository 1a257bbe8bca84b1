import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '#platform';

/** The time between two looks for overrides that have ended, in milliseconds; nobody waits for what is written down. */
const INTERVAL_MS = 1_000;
/** Ends that are written down by one transaction. */
const AT_ONCE = 100;

/**
 * Writes down in the audit that overrides have ended. Gateways end them without it, so nothing but the history is late when it does not run. Several
 * preloaders may do it at once.
 */
export class OverrideEnds {
  private readonly stopped = new AbortController();
  private running: Promise<void> | undefined;
  private failing = false;

  /**
   * @param record writes at most so many ends down and says how many there were
   * @param canRecord asked before each round
   */
  constructor(
    private readonly record: (max: number) => Promise<number>,
    private readonly canRecord: () => boolean,
    private readonly logger: Logger,
  ) {}

  start(): void {
    this.running ??= this.run();
  }

  /** Resolves after the current round. */
  async stop(): Promise<void> {
    this.stopped.abort();
    await this.running;
  }

  private async run(): Promise<void> {
    while (!this.stopped.signal.aborted) {
      const recorded = this.canRecord() ? await this.round() : 0;
      if (recorded < AT_ONCE) await sleep(INTERVAL_MS, undefined, { signal: this.stopped.signal }).catch(() => undefined);
    }
  }

  private async round(): Promise<number> {
    try {
      const recorded = await this.record(AT_ONCE);
      this.failing = false;
      return recorded;
    } catch (err) {
      if (!this.failing) this.logger.warn({ err }, 'that overrides have ended cannot be written down; they have ended all the same');
      this.failing = true;
      return 0;
    }
  }
}

import { Background, pause } from '#waiting';

export interface RoundsOptions {
  /** Does a part of the work and says whether there may be more at once. */
  readonly round: () => Promise<boolean>;
  /** Asked before each round; while it is false none begins. */
  readonly canRun: () => boolean;
  /** The wait after a round that found no more, or failed, in milliseconds. */
  readonly intervalMs: number;
  /** Called with the first failure, and not again before a round has succeeded. */
  readonly onFailing: (error: unknown) => void;
}

/** Work that is done again and again, one round at a time, until it is stopped. A round that fails is tried again. */
export class Rounds {
  private readonly background = new Background((signal) => this.run(signal));
  private failing = false;

  constructor(private readonly options: RoundsOptions) {}

  start(): void {
    this.background.start();
  }

  /** Resolves after the current round. */
  stop(): Promise<void> {
    return this.background.stop();
  }

  private async run(signal: AbortSignal): Promise<void> {
    const { canRun, intervalMs } = this.options;
    while (!signal.aborted) {
      const isMore = canRun() && (await this.round());
      if (!isMore) await pause(intervalMs, signal);
    }
  }

  private async round(): Promise<boolean> {
    try {
      const isMore = await this.options.round();
      this.failing = false;
      return isMore;
    } catch (error) {
      if (!this.failing) this.options.onFailing(error);
      this.failing = true;
      return false;
    }
  }
}

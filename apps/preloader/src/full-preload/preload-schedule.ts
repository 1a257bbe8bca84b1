import type { Logger } from '#platform';
import type { PreloadQueue } from '#rule-sync';
import { Background, pause } from '#waiting';

/** The time between two checks that the schedule still exists, in milliseconds. */
const CHECK_INTERVAL_MS = 3_000;

/** The wait before the schedule is written again after Redis did not answer at boot, in milliseconds. */
const BOOT_RETRY_MS = 500;

/**
 * Keeps full preloads scheduled: writes the schedule at boot and requests a run, and writes it again, which starts a run at once,
 * after Redis came back without its data.
 */
export class PreloadSchedule {
  private readonly background = new Background((signal) => this.run(signal));

  constructor(
    private readonly queue: PreloadQueue,
    private readonly intervalMs: number,
    private readonly logger: Logger,
  ) {}

  start(): void {
    this.background.start();
  }

  stop(): Promise<void> {
    return this.background.stop();
  }

  private async run(signal: AbortSignal): Promise<void> {
    let booted = false;
    while (!signal.aborted) {
      try {
        if (booted) await this.restoreIfLost();
        else await this.boot();
        booted = true;
      } catch (err) {
        // Redis is away, which its connection has logged already.
        this.logger.debug({ err }, 'the schedule of full preloads could not be checked');
      }
      await pause(booted ? CHECK_INTERVAL_MS : BOOT_RETRY_MS, signal);
    }
  }

  private async boot(): Promise<void> {
    const written = await this.queue.ensureSchedule(this.intervalMs);
    // A new schedule begins with a run of its own.
    if (!written) await this.queue.requestAtBoot();
  }

  private async restoreIfLost(): Promise<void> {
    if (await this.queue.hasSchedule()) return;
    await this.queue.ensureSchedule(this.intervalMs);
    this.logger.warn('the schedule of full preloads was missing in Redis and is restored');
  }
}

import { type Health } from './health.js';
import { endAtTheLatestIn } from './last-resort.js';
import { type Logger } from './logger.js';

export interface Lifecycle {
  readonly logger: Logger;
  readonly health: Health;
  /** Milliseconds that `close` may take before the process ends anyway. */
  readonly graceMs: number;
  /** Finishes what is in flight and lets go of every connection. */
  readonly close: () => Promise<void>;
}

/** A process that is still there so long after its grace is killed from outside. */
const LAST_RESORT_MS = 500;

/** A signal that comes this long after the first is a second one; sooner, it is the same one, heard from two sides. */
const IMPATIENT_AFTER_MS = 1_000;

/** How long the last lines of the log may take to be read. */
const LAST_LINES_MS = 250;

/**
 * Keeps the process until SIGTERM or SIGINT: it then becomes unready, closes, and exits with 0, or with 1 when closing
 * failed, took longer than `graceMs`, or was cut short by a second signal. Whatever is broken, be it the log, the
 * event loop or a thread that hangs, the process is gone LAST_RESORT_MS after its grace. An error that nobody caught ends it at once.
 */
export function runUntilSignal({ logger, health, graceMs, close }: Lifecycle): void {
  let firstMs: number | undefined;

  const end = async (signal: NodeJS.Signals): Promise<void> => {
    firstMs = performance.now();
    endAtTheLatestIn(graceMs + LAST_RESORT_MS);
    const forced = setTimeout(() => {
      logger.error({ graceMs }, 'not everything ended in time, stopping anyway');
      void exit(logger, 1);
    }, graceMs);
    logger.info({ signal }, 'stopping');
    health.stopping();
    try {
      await close();
      clearTimeout(forced);
      logger.info('stopped');
      await exit(logger, 0);
    } catch (err) {
      logger.error({ err }, 'could not stop cleanly');
      await exit(logger, 1);
    }
  };

  const hear = (signal: NodeJS.Signals): void => {
    if (firstMs === undefined) return void end(signal);
    if (performance.now() - firstMs < IMPATIENT_AFTER_MS) return;
    logger.warn({ signal }, 'a second signal: stopping at once');
    void exit(logger, 1);
  };
  process.on('SIGTERM', hear);
  process.on('SIGINT', hear);
  const crash = (err: unknown): void => {
    endAtTheLatestIn(LAST_LINES_MS + LAST_RESORT_MS);
    try {
      logger.fatal({ err }, 'an error that nobody caught');
    } finally {
      process.exit(1);
    }
  };
  process.on('uncaughtException', crash);
  process.on('unhandledRejection', crash);
}

/** Ends the process when the log is read, or a little later without. */
async function exit(logger: Logger, code: number): Promise<never> {
  await new Promise<void>((resolve) => {
    setTimeout(resolve, LAST_LINES_MS);
    logger.flush(() => resolve());
  });
  process.exit(code);
}

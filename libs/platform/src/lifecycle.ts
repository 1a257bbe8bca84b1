import { type Health } from './health.js';
import { type Logger } from './logger.js';

export interface Lifecycle {
  readonly logger: Logger;
  readonly health: Health;
  /** Milliseconds that `close` may take before the process ends anyway. */
  readonly graceMs: number;
  /** Finishes what is in flight and lets go of every connection. */
  readonly close: () => Promise<void>;
}

/**
 * Keeps the process until SIGTERM or SIGINT: it then becomes unready, closes, and exits with 0, or with 1 when closing
 * failed or took longer than `graceMs`. Further signals change nothing. An error that nobody caught ends it at once.
 */
export function runUntilSignal({ logger, health, graceMs, close }: Lifecycle): void {
  let ending = false;

  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (ending) return;
    ending = true;
    logger.info({ signal }, 'stopping');
    health.stopping();
    const forced = setTimeout(() => {
      logger.error({ graceMs }, 'not everything ended in time, stopping anyway');
      process.exit(1);
    }, graceMs);
    try {
      await close();
      clearTimeout(forced);
      logger.info('stopped');
      process.exit(0);
    } catch (err) {
      logger.error({ err }, 'could not stop cleanly');
      process.exit(1);
    }
  };

  process.on('SIGTERM', (signal) => void end(signal));
  process.on('SIGINT', (signal) => void end(signal));
  const crash = (err: unknown): never => {
    logger.fatal({ err }, 'an error that nobody caught');
    process.exit(1);
  };
  process.on('uncaughtException', crash);
  process.on('unhandledRejection', crash);
}

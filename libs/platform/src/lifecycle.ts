import type { Health } from './health.js';
import { endAtTheLatestIn } from './last-resort.js';
import type { Logger } from './logger.js';

export interface Lifecycle {
  readonly logger: Logger;
  readonly health: Health;
  /** Milliseconds that `close` may take before the process ends anyway. */
  readonly graceMs: number;
  /** Finishes the requests and jobs in flight and closes every connection. */
  readonly close: () => Promise<void>;
}

/** A process that still runs so many milliseconds after its grace is killed from outside. */
const LAST_RESORT_MS = 500;

/** A signal that arrives sooner after the first one, in milliseconds, is the same: a terminal and a parent may both send it. */
const SECOND_SIGNAL_AFTER_MS = 1_000;

/** How long the process waits for the reader of its last log lines, in milliseconds. */
const LAST_LINES_MS = 250;

/**
 * Ends the process in order on SIGTERM or SIGINT: it becomes unready, closes, and exits with 0. It exits with 1 if closing fails,
 * takes longer than `graceMs`, or is cut short by a second signal. Even if the log, the event loop or a thread hangs, the process
 * has ended LAST_RESORT_MS after its grace. An uncaught error ends it at once, with 1.
 */
export function runUntilSignal({ logger, health, graceMs, close }: Lifecycle): void {
  let firstMs: number | undefined;

  const end = async (signal: NodeJS.Signals): Promise<void> => {
    firstMs = performance.now();
    endAtTheLatestIn(graceMs + LAST_RESORT_MS);
    const forced = setTimeout(() => {
      logger.error({ graceMs }, 'the grace is over before everything has ended, the process stops anyway');
      void exitOnceLogged(logger, 1);
    }, graceMs);
    logger.info({ signal }, 'stopping');
    health.stopping();
    try {
      await close();
      clearTimeout(forced);
      logger.info('stopped');
      await exitOnceLogged(logger, 0);
    } catch (err) {
      logger.error({ err }, 'closing failed');
      await exitOnceLogged(logger, 1);
    }
  };

  const onSignal = (signal: NodeJS.Signals): void => {
    if (firstMs === undefined) return void end(signal);
    if (performance.now() - firstMs < SECOND_SIGNAL_AFTER_MS) return;
    logger.warn({ signal }, 'a second signal, the process stops at once');
    void exitOnceLogged(logger, 1);
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  const crash = (err: unknown): void => {
    endAtTheLatestIn(LAST_LINES_MS + LAST_RESORT_MS);
    try {
      logger.fatal({ err }, whyItEnds(err));
    } finally {
      process.exit(1);
    }
  };
  process.on('uncaughtException', crash);
  process.on('unhandledRejection', crash);
}

/** What an operator can mend is said as such. */
function whyItEnds(err: unknown): string {
  const { code, port, address } = (err ?? {}) as { code?: unknown; port?: unknown; address?: unknown };
  const place = `port ${String(port)} of ${String(address)}`;
  if (code === 'EADDRINUSE' && port !== undefined) return `${place} is taken by another process: end that, or set another port`;
  if (code === 'EACCES' && port !== undefined) return `${place} is for privileged processes only: set one above 1023`;
  if (code === 'EADDRNOTAVAIL' && port !== undefined) return `${String(address)} is no address of this machine: set one that is`;
  return 'an uncaught error ends the process';
}

/** Ends the process once the log is read, and after LAST_LINES_MS in any case. */
export async function exitOnceLogged(logger: Logger, code: number): Promise<never> {
  await new Promise<void>((resolve) => {
    setTimeout(resolve, LAST_LINES_MS);
    logger.flush(() => resolve());
  });
  process.exit(code);
}

import type { Logger } from '#platform';
import { recordEndedOverrides } from '#rules-db';
import type { DataSource } from 'typeorm';
import { Rounds } from '../rounds.js';

/** The time between two looks for overrides that have ended, in milliseconds; nobody waits for what is written down. */
const INTERVAL_MS = 1_000;
/** Ends that are written down by one transaction. */
const AT_ONCE = 100;

/**
 * Writes down in the audit that overrides have ended. Gateways end them without it, so nothing but the history is late when it does not run. Several
 * preloaders may do it at once.
 */
export function overrideEnds(dataSource: DataSource, logger: Logger): Rounds {
  return new Rounds({
    round: async () => (await recordEndedOverrides(dataSource, AT_ONCE)) === AT_ONCE,
    canRun: () => dataSource.isInitialized,
    intervalMs: INTERVAL_MS,
    onFailing: (err) => logger.warn({ err }, 'that overrides have ended cannot be written down; they have ended all the same'),
  });
}

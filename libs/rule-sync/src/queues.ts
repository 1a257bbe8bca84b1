import { createHash } from 'node:crypto';

/**
 * The queues between whoever changes rules and the preloader, and what their jobs carry. A job never carries a rule:
 * only who changed and to which version, so that late, doubled and reordered jobs all lead to what PostgreSQL says now.
 */

/** The braces keep all keys of the queues in one slot of a Redis cluster. */
export const QUEUE_PREFIX = '{tollgate}';

/** Two queues, so that a changed merchant never waits behind a walk through all of them. */
export const RELOAD_QUEUE = 'merchant-reloads';
export const PRELOAD_QUEUE = 'full-preloads';

export const RELOAD_JOB = 'reload-merchant';
export const PRELOAD_JOB = 'preload-all';

/** "This merchant changed": reread it and carry it to Redis. */
export interface ReloadJobData {
  /** Null stands for the default rules. */
  readonly merchantId: string | null;
  readonly version: number;
  /** When the change was committed, in milliseconds since the epoch; null when nobody waits for this reload. */
  readonly changedAtMs: number | null;
}

/** "Carry all merchants to Redis." */
export interface PreloadJobData {
  readonly requestedBy: PreloadReason;
  /** How far the walk has come; written after each chunk, so that a run resumes where its worker died. */
  readonly walk?: PreloadWalk;
}

export type PreloadReason = 'schedule' | 'boot' | 'command';

export interface PreloadWalk {
  /** The run that wrote this. A walk found in another run's data is not its own and is ignored. */
  readonly jobId: string;
  /** Everything up to and including this merchant id is done. Null: nothing yet. */
  readonly cursor: string | null;
  readonly done: number;
  readonly setAside: number;
  /** Merchants counted when the run started; more may have come since. */
  readonly total: number;
  readonly startedAtMs: number;
  /** How often a worker took the run up again where another one had left it. */
  readonly resumes: number;
}

/** A finished job is kept for a look back; a failed one is kept as set aside, longer. Both bounded. */
export const KEEP_FINISHED = { age: 3_600, count: 500 } as const;
export const KEEP_SET_ASIDE = { age: 7 * 86_400, count: 1_000 } as const;

/** Tries before a job is set aside. Outages do not count: a job that met one is postponed instead. */
export const ATTEMPTS = 5;

/** The wait before the second try in milliseconds; it doubles with each further one. */
export const FIRST_RETRY_MS = 500;

/**
 * What tells the reloads of one merchant from those of all others. A digest, because a merchant id may hold any
 * character, and a colon in an id means something to BullMQ.
 */
export function reloadKey(merchantId: string | null): string {
  if (merchantId === null) return 'default-rules';
  return `m-${createHash('sha256').update(merchantId, 'utf8').digest('base64url')}`;
}

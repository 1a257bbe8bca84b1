import { createHash } from 'node:crypto';

/**
 * The queues between the Rules API and the preloader, and the data of their jobs. A job never holds a rule, only which merchant
 * changed and its version. Therefore late, duplicate and reordered jobs all lead to the rules that PostgreSQL holds now.
 */

/** The braces keep all keys of the queues in one slot of a Redis cluster. */
export const QUEUE_PREFIX = '{tollgate}';

/** There are two queues, so that a changed merchant never waits behind a walk through all merchants. */
export const RELOAD_QUEUE = 'merchant-reloads';
export const PRELOAD_QUEUE = 'full-preloads';

export const RELOAD_JOB = 'reload-merchant';
export const PRELOAD_JOB = 'preload-all';

/** Whose rules changed. */
export interface ReloadSubject {
  /** Null stands for the default rules, unless a plan is named. */
  readonly merchantId: string | null;
  readonly plan?: string;
}

/** "This merchant changed": read it again and write it to Redis. */
export interface ReloadJobData extends ReloadSubject {
  readonly version: number;
  /** When the change was committed, in milliseconds since 1970; null if the reload was not caused by a change. */
  readonly changedAtMs: number | null;
}

/** Reloads of a bulk wait until there are no urgent ones. */
export type Urgency = 'urgent' | 'bulk';

/** "Write all merchants to Redis." */
export interface PreloadJobData {
  readonly requestedBy: PreloadReason;
  /** The checkpoint: how far the walk has come. It is written after each chunk, so that a run resumes where its worker died. */
  readonly walk?: PreloadWalk;
}

export type PreloadReason = 'schedule' | 'boot' | 'command';

export interface PreloadWalk {
  /** The run that wrote this checkpoint. A run ignores the checkpoint of another run. */
  readonly jobId: string;
  /** Every merchant up to and including this id is done. Null: none yet. */
  readonly cursor: string | null;
  readonly done: number;
  /** Merchants, among those done, that could not be written and got a reload job of their own. */
  readonly skipped: number;
  /** The number of merchants when the run started; more may exist by now. */
  readonly total: number;
  readonly startedAtMs: number;
  /** How often a worker resumed the run. */
  readonly resumes: number;
}

/** Completed jobs are kept for an hour, failed jobs for a week (`age` is in seconds); both are bounded in number. */
export const KEEP_COMPLETED = { age: 3_600, count: 500 } as const;
export const KEEP_FAILED = { age: 7 * 86_400, count: 1_000 } as const;

/** Attempts before a job fails. An outage costs no attempt: the job is postponed instead. */
export const ATTEMPTS = 5;

/** The wait before the second attempt in milliseconds; it doubles with each further one. */
export const FIRST_RETRY_MS = 500;

/**
 * The deduplication id of the reloads of one merchant (null: of the default rules, or of a plan). It is a digest, because a merchant id may hold
 * any character, and a colon in an id has a meaning for BullMQ.
 */
export function reloadKey(merchantId: string | null, plan?: string): string {
  if (plan !== undefined) return `p-${createHash('sha256').update(plan, 'utf8').digest('base64url')}`;
  if (merchantId === null) return 'default-rules';
  return `m-${createHash('sha256').update(merchantId, 'utf8').digest('base64url')}`;
}

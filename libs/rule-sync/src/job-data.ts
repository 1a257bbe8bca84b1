import { isMerchantId } from '#limiter';
import { type PreloadJobData, type PreloadReason, type PreloadWalk, type ReloadJobData } from './queues.js';

/**
 * What stands in a job is input from outside: another version of Tollgate may have written it, or somebody with redis-cli. Fields
 * that are not known are ignored; whoever changes what the known ones mean counts the format up.
 */
const JOB_FORMAT = 1;

const REASONS: readonly PreloadReason[] = ['schedule', 'boot', 'command'];

/** The job cannot be done, now or ever: it is not to be tried again. The message is for people. */
export class UnreadableJobError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UnreadableJobError';
  }
}

/** @throws UnreadableJobError */
export function readReloadJob(data: unknown): ReloadJobData {
  const { merchantId, version, changedAtMs } = fieldsOf(data);
  if (merchantId !== null && !isMerchantId(merchantId))
    throw new UnreadableJobError(`merchantId must be that of a merchant, or null, got ${shown(merchantId)}`);
  // Only hints: what PostgreSQL says now is carried. They must not keep a change from being carried.
  return { merchantId, version: isCount(version) ? version : 0, changedAtMs: isCount(changedAtMs) ? changedAtMs : null };
}

/** @throws UnreadableJobError. Without the walk where that is none: the run then begins anew. */
export function readPreloadJob(data: unknown): PreloadJobData {
  const { requestedBy, walk } = fieldsOf(data);
  const reason = REASONS.find((each) => each === requestedBy);
  if (reason === undefined) throw new UnreadableJobError(`requestedBy must be one of ${REASONS.join(', ')}, got ${shown(requestedBy)}`);
  const left = readWalk(walk);
  return left === undefined ? { requestedBy: reason } : { requestedBy: reason, walk: left };
}

/** Undefined if it is none. */
export function readWalk(value: unknown): PreloadWalk | undefined {
  if (!isObject(value)) return undefined;
  const { jobId, cursor, done, setAside, total, startedAtMs, resumes } = value;
  // The cursor need not be the id of a merchant that a request could carry: the walk comes past those that are not.
  if (typeof jobId !== 'string' || !(cursor === null || (typeof cursor === 'string' && !cursor.includes('\0')))) return undefined;
  if (!isCount(done) || !isCount(setAside) || !isCount(total) || !isCount(startedAtMs) || !isCount(resumes)) return undefined;
  return { jobId, cursor, done, setAside, total, startedAtMs, resumes };
}

function fieldsOf(data: unknown): Readonly<Record<string, unknown>> {
  if (!isObject(data)) throw new UnreadableJobError(`the job must carry an object, got ${shown(data)}`);
  const { format = JOB_FORMAT } = data;
  if (format !== JOB_FORMAT)
    throw new UnreadableJobError(
      `the job is of format ${shown(format)}, and this preloader reads format ${JOB_FORMAT}: a newer one has written it`,
    );
  return data;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Texts and numbers, shortly: what is wrong may be large, or deep. */
function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 40));
  if (value === null || typeof value !== 'object') return String(value).slice(0, 40);
  return Array.isArray(value) ? 'a list' : 'an object';
}

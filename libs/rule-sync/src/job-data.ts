import { isMerchantId, isPlanName } from '#limiter';
import type { PreloadJobData, PreloadReason, PreloadWalk, ReloadJobData } from './queues.js';

/**
 * The data of a job is input from outside: another version of Tollgate may have written it, or somebody with redis-cli. Unknown
 * fields are ignored. A change of what a known field means needs the next format.
 */
const JOB_FORMAT = 1;
/** Of a job about a plan. A preloader that knows no plans would take it for one about the default rules; now it says that it cannot read it. */
export const PLAN_JOB_FORMAT = 2;

const REASONS: readonly PreloadReason[] = ['schedule', 'boot', 'command'];

/** No attempt of the job could ever succeed, so it must not be retried. The message is for people. */
export class UnreadableJobError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UnreadableJobError';
  }
}

/** Parses the data of a reload job. @throws UnreadableJobError */
export function readReloadJob(data: unknown): ReloadJobData {
  const { format, merchantId, plan, version, changedAtMs } = fieldsOf(data, PLAN_JOB_FORMAT);
  const isAboutPlan = format === PLAN_JOB_FORMAT;
  if (merchantId !== null && !isMerchantId(merchantId))
    throw new UnreadableJobError(`merchantId must be that of a merchant, or null, got ${shown(merchantId)}`);
  if (isAboutPlan && !(merchantId === null && isPlanName(plan)))
    throw new UnreadableJobError(`plan must be the name of a plan, and merchantId null, got ${shown(plan)}`);
  // Both are hints, because the reload reads PostgreSQL again. A wrong hint must not stop it.
  return {
    merchantId,
    ...(isAboutPlan && { plan: plan as string }),
    version: isCount(version) ? version : 0,
    changedAtMs: isCount(changedAtMs) ? changedAtMs : null,
  };
}

/** Parses the data of a full preload. An invalid checkpoint is left out: the run then begins anew. @throws UnreadableJobError */
export function readPreloadJob(data: unknown): PreloadJobData {
  const { requestedBy, walk } = fieldsOf(data);
  const reason = REASONS.find((each) => each === requestedBy);
  if (reason === undefined) throw new UnreadableJobError(`requestedBy must be one of ${REASONS.join(', ')}, got ${shown(requestedBy)}`);
  const left = readWalk(walk);
  return left === undefined ? { requestedBy: reason } : { requestedBy: reason, walk: left };
}

/** Parses a checkpoint; undefined if it is invalid. */
export function readWalk(value: unknown): PreloadWalk | undefined {
  if (!isObject(value)) return undefined;
  // Preloaders of before called the skipped merchants `setAside`.
  const { jobId, cursor, done, setAside, skipped = setAside, total, startedAtMs, resumes } = value;
  // The cursor may be an id that no request could send: the walk passes such merchants too.
  if (typeof jobId !== 'string' || !(cursor === null || (typeof cursor === 'string' && !cursor.includes('\0')))) return undefined;
  if (!isCount(done) || !isCount(skipped) || !isCount(total) || !isCount(startedAtMs) || !isCount(resumes)) return undefined;
  return { jobId, cursor, done, skipped, total, startedAtMs, resumes };
}

function fieldsOf(data: unknown, newestFormat = JOB_FORMAT): Readonly<Record<string, unknown>> {
  if (!isObject(data)) throw new UnreadableJobError(`the job must carry an object, got ${shown(data)}`);
  const { format = JOB_FORMAT } = data;
  if (!Number.isSafeInteger(format) || (format as number) < JOB_FORMAT || (format as number) > newestFormat)
    throw new UnreadableJobError(
      `the job is of format ${shown(format)}, and this preloader reads format ${newestFormat}: a newer one has written it`,
    );
  return data;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** A short form of a value for a message: a wrong value may be large or deep. */
function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 40));
  if (value === null || typeof value !== 'object') return String(value).slice(0, 40);
  return Array.isArray(value) ? 'a list' : 'an object';
}

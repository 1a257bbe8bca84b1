import type { RedisConnection } from '#limiter-redis';
import { withDeadline } from '#waiting';
import {
  PRELOAD_QUEUE,
  type PreloadQueue,
  QUEUE_PREFIX,
  type QueueHandle,
  readReloadJob,
  RELOAD_QUEUE,
  type ReloadJobData,
  type ReloadSubject,
  reloadKey,
  type ReloadQueue,
} from '#rule-sync';
import type { Job } from 'bullmq';

/** One list shows at most so many jobs, the newest first. */
const MAX_LISTED = 100;

const MAX_ERROR_LENGTH = 500;
const CALL_TIMEOUT_MS = 2_000;

/** A hash from merchant to the id of its failed reload. The key keeps its first name: preloaders of all versions share it. */
const LATEST_KEY = `${QUEUE_PREFIX}:set-aside`;

export interface FailedJob {
  readonly id: string;
  readonly queue: string;
  /** Null for the default rules, a plan and a full preload. */
  readonly merchant: string | null;
  readonly plan: string | null;
  readonly version: number | null;
  readonly error: string;
  readonly attempts: number;
  /** When the job failed for the last time, in ISO 8601. */
  readonly when: string;
}

export interface FailedJobList {
  readonly total: number;
  readonly items: readonly FailedJob[];
}

/**
 * The jobs that failed in every attempt, also called dead letters. Of each merchant only the latest one is kept, and none once a
 * later reload succeeded: the list holds only jobs that somebody has to look at. Every method rejects if Redis does not answer in time.
 */
export class FailedJobs {
  constructor(
    private readonly redis: RedisConnection,
    private readonly reloads: ReloadQueue,
    private readonly preloads: PreloadQueue,
  ) {}

  /** Remembers a reload that has just failed, and drops an earlier one of the same merchant. A job that names no merchant replaces none. */
  async record(job: Job<ReloadJobData>): Promise<void> {
    const data = readable(job);
    if (data === undefined) return;
    const key = reloadKey(data.merchantId, data.plan);
    const earlier = await this.call(this.redis.hget(LATEST_KEY, key));
    await this.call(this.redis.hset(LATEST_KEY, key, String(job.id)));
    if (earlier !== null && earlier !== job.id) await this.drop(earlier);
  }

  /** Drops the failed reload of a merchant or a plan, because a later one succeeded. */
  async clear({ merchantId, plan }: ReloadSubject): Promise<void> {
    const key = reloadKey(merchantId, plan);
    const jobId = await this.call(this.redis.hget(LATEST_KEY, key));
    if (jobId === null) return;
    await this.drop(jobId);
    await this.call(this.redis.hdel(LATEST_KEY, key));
  }

  /** The failed jobs of both queues. */
  async count(): Promise<number> {
    const counts = await Promise.all([failedCount(this.reloads.handle), failedCount(this.preloads.handle)]);
    return counts[0] + counts[1];
  }

  /** The newest MAX_LISTED failed jobs of both queues, and how many there are in all. */
  async list(): Promise<FailedJobList> {
    const [total, ...jobs] = await Promise.all([this.count(), failedJobs(this.reloads.handle), failedJobs(this.preloads.handle)]);
    const newestFirst = jobs.flat().sort((a, b) => (b.finishedOn ?? 0) - (a.finishedOn ?? 0));
    return { total, items: newestFirst.slice(0, MAX_LISTED).map(describe) };
  }

  private async drop(jobId: string): Promise<void> {
    await this.reloads.handle.use((queue) => queue.remove(jobId));
  }

  private async call<T>(answer: Promise<T>): Promise<T> {
    return withDeadline(answer, CALL_TIMEOUT_MS, { what: 'a call about failed jobs' });
  }
}

function failedCount<T>(handle: QueueHandle<T>): Promise<number> {
  return handle.use((queue) => queue.getFailedCount());
}

async function failedJobs<T>(handle: QueueHandle<T>): Promise<Job[]> {
  return (await handle.use((queue) => queue.getFailed(0, MAX_LISTED - 1))) as Job[];
}

function describe(job: Job): FailedJob {
  const isReload = job.queueName === RELOAD_QUEUE;
  const data = isReload ? readable(job) : undefined;
  return {
    id: String(job.id),
    queue: isReload ? RELOAD_QUEUE : PRELOAD_QUEUE,
    merchant: data?.merchantId ?? null,
    plan: data?.plan ?? null,
    version: data?.version ?? null,
    error: (job.failedReason ?? '').slice(0, MAX_ERROR_LENGTH),
    attempts: job.attemptsMade,
    when: new Date(job.finishedOn ?? job.timestamp).toISOString(),
  };
}

function readable(job: Job): ReloadJobData | undefined {
  try {
    return readReloadJob(job.data);
  } catch {
    return undefined;
  }
}

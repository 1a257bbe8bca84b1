import type { Job, JobState } from 'bullmq';
import { randomUUID } from 'node:crypto';
import { readWalk } from './job-data.js';
import { type QueueConnection, QueueHandle } from './queue-handle.js';
import {
  ATTEMPTS,
  FIRST_RETRY_MS,
  KEEP_COMPLETED,
  KEEP_FAILED,
  PRELOAD_JOB,
  PRELOAD_QUEUE,
  type PreloadJobData,
  type PreloadWalk,
} from './queues.js';

const SCHEDULE_ID = 'every-interval';

/** A run that ended within this many milliseconds also serves a preloader that starts now: replicas start one after the other. */
const JUST_ENDED_MS = 60_000;

/** A scheduled run that is due within this many milliseconds, or overdue, replaces the run at boot. */
const SOON_MS = 5_000;

const JOB_OPTIONS = {
  attempts: ATTEMPTS,
  backoff: { type: 'exponential', delay: FIRST_RETRY_MS, jitter: 0.2 },
  removeOnComplete: KEEP_COMPLETED,
  removeOnFail: KEEP_FAILED,
} as const;

export interface PreloadRequest {
  readonly jobId: string;
  /** True if an earlier request is not finished yet: then its run serves this request too. */
  readonly joined: boolean;
}

export interface PreloadStatus {
  readonly state: JobState | 'unknown';
  /** The latest checkpoint; undefined before the run begins. */
  readonly walk: PreloadWalk | undefined;
  /** Why the latest attempt failed; null if none has. */
  readonly error: string | null;
}

/** The producer of full preloads. Among all replicas, at most one of its jobs is active. Methods reject if Redis is unavailable. */
export class PreloadQueue {
  readonly handle: QueueHandle<PreloadJobData>;

  constructor(redis: QueueConnection) {
    this.handle = new QueueHandle(PRELOAD_QUEUE, redis, JOB_OPTIONS);
  }

  /**
   * Schedules a full preload every `intervalMs` milliseconds, the first one now. A schedule that is already right stays as it is, so
   * that several replicas may call this at once, and again after Redis lost its data.
   *
   * @returns whether the schedule was written
   */
  async ensureSchedule(intervalMs: number): Promise<boolean> {
    return this.handle.use(async (queue) => {
      await queue.setGlobalConcurrency(1);
      const scheduled = await queue.getJobScheduler(SCHEDULE_ID);
      if (scheduled?.every === intervalMs) return false;
      await queue.upsertJobScheduler(
        SCHEDULE_ID,
        { every: intervalMs },
        { name: PRELOAD_JOB, data: { requestedBy: 'schedule' }, opts: JOB_OPTIONS },
      );
      return true;
    });
  }

  /** Whether full preloads are scheduled. */
  async hasSchedule(): Promise<boolean> {
    return this.handle.use(async (queue) => (await queue.getJobScheduler(SCHEDULE_ID)) !== undefined);
  }

  /** Requests a run because a preloader starts, unless a run is active, waits, is about to start or has just ended. */
  async requestAtBoot(): Promise<void> {
    await this.handle.use(async (queue) => {
      const [pending, scheduled, [latest]] = await Promise.all([
        queue.getJobCounts('active', 'waiting'),
        queue.getJobScheduler(SCHEDULE_ID),
        queue.getCompleted(0, 0),
      ]);
      const now = Date.now();
      if (Object.values(pending).some((count) => count > 0)) return;
      if (scheduled?.next !== undefined && scheduled.next - now < SOON_MS) return;
      if (latest?.finishedOn !== undefined && now - latest.finishedOn < JUST_ENDED_MS) return;
      await queue.add(PRELOAD_JOB, { requestedBy: 'boot' }, { deduplication: { id: 'boot' } });
    });
  }

  /** Requests a run on command. An earlier such request that is not finished is joined instead. */
  async request(): Promise<PreloadRequest> {
    return this.handle.use(async (queue) => {
      await queue.setGlobalConcurrency(1);
      const own = randomUUID();
      const { id } = await queue.add(PRELOAD_JOB, { requestedBy: 'command' }, { jobId: own, deduplication: { id: 'command' } });
      return { jobId: id ?? own, joined: id !== own };
    });
  }

  /** The status of a run; undefined if no run with this id exists, or exists any longer. */
  async look(jobId: string): Promise<PreloadStatus | undefined> {
    return this.handle.use(async (queue) => {
      // The state is read first: the checkpoint is then at least as new as the state.
      const state = await queue.getJobState(jobId);
      const job = (await queue.getJob(jobId)) as Job<PreloadJobData> | undefined;
      if (job === undefined) return undefined;
      const left = readWalk((job.data as { walk?: unknown } | null)?.walk);
      const walk = left?.jobId === jobId ? left : undefined;
      return { state, walk, error: job.failedReason ?? null };
    });
  }

  /** How many preloaders work on this queue; also 0 if the server does not list its clients. */
  async workers(): Promise<number> {
    return this.handle.use((queue) => queue.getWorkersCount());
  }
}

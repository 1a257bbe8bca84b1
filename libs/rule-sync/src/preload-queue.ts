import type { Job, JobState } from 'bullmq';
import type { Redis } from 'ioredis';
import { randomUUID } from 'node:crypto';
import { readWalk } from './job-data.js';
import { QueueHandle } from './queue-handle.js';
import {
  ATTEMPTS,
  FIRST_RETRY_MS,
  KEEP_FINISHED,
  KEEP_SET_ASIDE,
  PRELOAD_JOB,
  PRELOAD_QUEUE,
  type PreloadJobData,
  type PreloadWalk,
} from './queues.js';

const SCHEDULE_ID = 'every-interval';

/** Replicas that start one after the other share the run of the first. */
const JUST_ENDED_MS = 60_000;

/** A scheduled run that is this near, or overdue, is as good as one at boot. */
const SOON_MS = 5_000;

const JOB_OPTIONS = {
  attempts: ATTEMPTS,
  backoff: { type: 'exponential', delay: FIRST_RETRY_MS, jitter: 0.2 },
  removeOnComplete: KEEP_FINISHED,
  removeOnFail: KEEP_SET_ASIDE,
} as const;

export interface PreloadRequest {
  readonly jobId: string;
  /** True if it is an earlier request that is not finished yet. */
  readonly joined: boolean;
}

export interface PreloadStanding {
  readonly state: JobState | 'unknown';
  /** How far it is; undefined before it begins. */
  readonly walk: PreloadWalk | undefined;
  /** Why it, or its last try, failed. */
  readonly error: string | null;
}

/** The producer's end of the queue of full preloads. Of its jobs only one is ever active, over all replicas. */
export class PreloadQueue {
  readonly handle: QueueHandle<PreloadJobData>;

  constructor(redis: Redis) {
    this.handle = new QueueHandle(PRELOAD_QUEUE, redis, JOB_OPTIONS);
  }

  /**
   * Sees to it that a full preload runs every `intervalMs`, the first one now. Harmless to repeat, also from several
   * replicas at once: a schedule that is already right is left alone. A Redis that lost its data gets its schedule back this way.
   * @returns whether the schedule had to be written.
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

  async hasSchedule(): Promise<boolean> {
    return this.handle.use(async (queue) => (await queue.getJobScheduler(SCHEDULE_ID)) !== undefined);
  }

  /** Asks for a run because a preloader starts, unless one runs, waits, is about to or has just ended. */
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

  /** Asks for a run on command. While an earlier such request is not finished, that one is joined instead. */
  async request(): Promise<PreloadRequest> {
    return this.handle.use(async (queue) => {
      await queue.setGlobalConcurrency(1);
      const own = randomUUID();
      const { id } = await queue.add(PRELOAD_JOB, { requestedBy: 'command' }, { jobId: own, deduplication: { id: 'command' } });
      return { jobId: id ?? own, joined: id !== own };
    });
  }

  /** Where a run stands; undefined if there is none of this id (any more). */
  async look(jobId: string): Promise<PreloadStanding | undefined> {
    return this.handle.use(async (queue) => {
      // First the state: what a run has reached is then at least as far as its state says.
      const state = await queue.getJobState(jobId);
      const job = (await queue.getJob(jobId)) as Job<PreloadJobData> | undefined;
      if (job === undefined) return undefined;
      const left = readWalk((job.data as { walk?: unknown } | null)?.walk);
      const walk = left?.jobId === jobId ? left : undefined;
      return { state, walk, error: job.failedReason ?? null };
    });
  }

  /** How many preloaders work on this queue; 0 also where the server does not tell who is connected. */
  async workers(): Promise<number> {
    return this.handle.use((queue) => queue.getWorkersCount());
  }
}

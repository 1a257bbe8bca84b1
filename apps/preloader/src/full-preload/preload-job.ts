import type { Logger } from '#platform';
import type { PreloadJobData, PreloadWalk } from '#rule-sync';
import { type Job, WaitingError } from 'bullmq';
import type { PreloaderMetrics } from '../metrics.js';
import { Checkpoints } from './checkpoints.js';
import type { FullPreload } from './full-preload.js';

/** The time between two log lines about the progress of one run, in milliseconds. */
const LOG_INTERVAL_MS = 5_000;

export interface PreloadJobOptions {
  readonly preload: FullPreload;
  readonly metrics: PreloaderMetrics;
  readonly logger: Logger;
  /** How long the lock of a job lasts without renewal, in milliseconds. */
  readonly lockMs: number;
  /** Aborted when the process is about to end. */
  readonly signal: AbortSignal;
}

/** The result of a finished run, stored in its job. */
export interface PreloadSummary {
  readonly merchants: number;
  readonly skipped: number;
  readonly resumes: number;
  readonly durationMs: number;
}

/** One `preload-all` job: the walk through all merchants. Its progress is kept in the job, so that any worker can resume it. */
export class PreloadJob {
  constructor(private readonly options: PreloadJobOptions) {}

  async run(data: PreloadJobData, job: Job<PreloadJobData>, token: string): Promise<PreloadSummary> {
    const { preload, logger, signal } = this.options;
    const begun = await this.beginOrResume(data, job);
    let loggedAtMs = Date.now();
    const checkpoints = new Checkpoints((reached) => this.save(data, job, token, reached));
    this.report(begun);
    const onReached = (reached: PreloadWalk): void => {
      this.report(reached);
      checkpoints.reached(reached, performance.now());
      if (Date.now() - loggedAtMs < LOG_INTERVAL_MS) return;
      loggedAtMs = Date.now();
      logger.info({ jobId: job.id, done: reached.done, total: reached.total, skipped: reached.skipped }, 'full preload is running');
    };
    // No save may still be under way when the job is somebody else's.
    const walk = await preload.continue(begun, onReached, signal).finally(() => checkpoints.settled());
    await checkpoints.end(walk);
    if (signal.aborted) {
      logger.info(
        { jobId: job.id, done: walk.done, total: walk.total },
        'full preload is given back to the queue, another worker resumes it',
      );
      await job.moveToWait(token);
      throw new WaitingError();
    }
    this.options.metrics.preloadProgress.set(1);
    const summary = summarize(walk, Date.now());
    logger.info({ jobId: job.id, ...summary }, 'full preload done');
    return summary;
  }

  private async beginOrResume({ requestedBy, walk: left }: PreloadJobData, job: Job<PreloadJobData>): Promise<PreloadWalk> {
    const { preload, logger } = this.options;
    const jobId = String(job.id);
    if (left?.jobId === jobId) {
      const walk = { ...left, resumes: left.resumes + 1 };
      logger.info({ jobId, done: walk.done, total: walk.total, resumes: walk.resumes }, 'full preload resumed');
      return walk;
    }
    const walk = await preload.begin(jobId, Date.now());
    logger.info({ jobId, requestedBy, total: walk.total }, 'full preload started');
    return walk;
  }

  /** Stores the progress. A worker that was held up too long has lost the job to another one and must not overwrite its progress. */
  private async save({ requestedBy }: PreloadJobData, job: Job<PreloadJobData>, token: string, walk: PreloadWalk): Promise<void> {
    const held = await job.extendLock(token, this.options.lockMs);
    if (held !== 1) throw new Error('the job was taken over by another worker');
    await job.updateData({ requestedBy, walk });
    await job.updateProgress({ done: walk.done, total: walk.total, skipped: walk.skipped });
  }

  private report(walk: PreloadWalk): void {
    this.options.metrics.preloadProgress.set(progressOf(walk));
  }
}

/** The progress from 0 to 1. Merchants created during the walk may make `done` larger than `total`. */
function progressOf({ done, total }: Pick<PreloadWalk, 'done' | 'total'>): number {
  return total === 0 ? 0 : Math.min(1, done / total);
}

function summarize(walk: PreloadWalk, nowMs: number): PreloadSummary {
  return { merchants: walk.done, skipped: walk.skipped, resumes: walk.resumes, durationMs: nowMs - walk.startedAtMs };
}

import type { Logger } from '#platform';
import { withDeadline } from '#waiting';
import { ATTEMPTS, KEEP_FINISHED, KEEP_SET_ASIDE, QUEUE_PREFIX } from '#rule-sync';
import { DelayedError, type Job, UnrecoverableError, WaitingError, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Parts } from '../parts.js';

const OPEN_TIMEOUT_MS = 5_000;
const REOPEN_WAIT_MS = 500;

/** Wait before a job that met an outage is tried again, in milliseconds; up to as much again is added at random. */
const POSTPONE_MS = 500;

/** How often a job may lose its worker before it counts as the one that kills them. */
const MAX_LOST_WORKERS = 10;

const MAX_LOGGED_CHARACTERS = 1_000;

/**
 * How long a worker blocks on its connection at most, in seconds. BullMQ replaces the connection when nothing has come a second
 * after that, so this says how soon a dead one is noticed; an idle queue costs Redis one call in this time.
 */
const MAX_BLOCK_S = 1;

/** BullMQ itself blocks for up to ten seconds while a job is delayed, and one of ours nearly always is: the next full preload. */
class BrieflyBlockingWorker<Data> extends Worker<Data> {
  override get maximumBlockTimeout(): number {
    return MAX_BLOCK_S;
  }
}

export interface JobWorkerOptions<Data> {
  readonly queue: string;
  readonly redis: Redis;
  readonly concurrency: number;
  /**
   * Life of a job's lock in milliseconds. A job whose worker died is taken up again after at most this plus the wait for
   * two looks, each half as long.
   */
  readonly lockMs: number;
  /** What stands in a job, read as input from outside: throws, in words for people, when it cannot be done at all. */
  readonly read: (data: unknown) => Data;
  readonly handle: (data: Data, job: Job<Data>, token: string) => Promise<unknown>;
  readonly parts: Parts;
  readonly logger: Logger;
  readonly onPostponed?: (job: Job<Data>) => void;
  readonly onRetried?: (job: Job<Data>) => void;
  /** Nothing could be done with what the job carries. */
  readonly onUnreadable: (job: Job<Data>) => void;
  readonly onSetAside: (job: Job<Data>, error: Error) => void;
}

/**
 * A BullMQ worker that waits for Redis instead of breaking without it, and that tells an outage (the job is postponed and
 * loses no try) from a job that cannot be done (it is tried again, then set aside; the queue goes on meanwhile). One that cannot
 * even be read is set aside at once.
 */
export class JobWorker<Data> {
  private worker: Worker<Data> | undefined;
  private opening: Promise<void> | undefined;
  private readonly stopped = new AbortController();
  /** Said once for each outage, not for each job. */
  private outageLogged = false;

  constructor(private readonly options: JobWorkerOptions<Data>) {}

  start(): void {
    this.opening ??= this.open();
  }

  /** Throws, with the reason, while no job would be taken. */
  assertRunning(): void {
    const { queue, redis } = this.options;
    if (redis.status !== 'ready') throw new Error(`the queue's Redis is not connected (${redis.status})`);
    if (this.worker?.isRunning() !== true) throw new Error(`no worker runs for ${queue}`);
  }

  /** Takes no further job and waits for those at work, at most `graceMs`; what is not done by then is resumed by another worker. */
  async stop(graceMs: number): Promise<void> {
    this.stopped.abort();
    await this.opening;
    if (this.worker === undefined) return;
    await withDeadline(this.worker.close(), graceMs, { what: `closing the worker for ${this.options.queue}` }).catch((err: unknown) => {
      this.options.logger.warn({ err }, 'jobs are left to another worker');
    });
  }

  private async open(): Promise<void> {
    const { redis, queue, logger } = this.options;
    while (!this.stopped.signal.aborted) {
      if (redis.status === 'ready') {
        const worker = this.create();
        try {
          await withDeadline(worker.waitUntilReady(), OPEN_TIMEOUT_MS, { what: `opening the worker for ${queue}` });
          this.worker = worker;
          void worker.run().catch((err: unknown) => logger.error({ err, queue }, 'a worker ended'));
          return;
        } catch (err) {
          logger.debug({ err, queue }, 'a worker could not be opened');
          await withDeadline(worker.close(true), OPEN_TIMEOUT_MS, { what: 'closing a worker' }).catch(() => undefined);
        }
      }
      await sleep(REOPEN_WAIT_MS, undefined, { signal: this.stopped.signal }).catch(() => undefined);
    }
  }

  private create(): Worker<Data> {
    const { queue, redis, concurrency, lockMs, logger } = this.options;
    const worker = new BrieflyBlockingWorker<Data>(queue, (job, token) => this.process(job, token as string), {
      connection: redis,
      prefix: QUEUE_PREFIX,
      autorun: false,
      concurrency,
      lockDuration: lockMs,
      stalledInterval: Math.ceil(lockMs / 2),
      maxStalledCount: MAX_LOST_WORKERS,
      removeOnComplete: KEEP_FINISHED,
      removeOnFail: KEEP_SET_ASIDE,
      drainDelay: MAX_BLOCK_S,
      // The wait after a lost connection; BullMQ's own 15 s would be felt by every rule edit after an outage.
      runRetryDelay: 500,
    });
    worker.on('error', (err) => logger.debug({ err, queue }, 'error of a queue worker'));
    worker.on('stalled', (jobId) => logger.warn({ jobId, queue }, 'a job lost its worker and is taken up again'));
    worker.on('failed', (job, error) => {
      if (job !== undefined) this.failed(job, error);
    });
    return worker;
  }

  private async process(job: Job<Data>, token: string): Promise<unknown> {
    const { handle, parts, logger, onPostponed } = this.options;
    const data = this.read(job);
    try {
      const result = await handle(data, job, token);
      this.outageLogged = false;
      return result;
    } catch (error) {
      // Handed back on purpose.
      if (error instanceof WaitingError) throw error;
      const outage = await parts.outageBehind(error);
      if (outage === undefined) throw error;
      if (!this.outageLogged) logger.warn({ jobId: job.id, outage, err: error }, 'jobs are postponed until an outage is over');
      this.outageLogged = true;
      await job.moveToDelayed(Date.now() + POSTPONE_MS * (1 + Math.random()), token);
      onPostponed?.(job);
      throw new DelayedError();
    }
  }

  private read(job: Job<Data>): Data {
    try {
      return this.options.read(job.data);
    } catch (error) {
      this.options.onUnreadable(job);
      throw new UnrecoverableError((error as Error).message);
    }
  }

  private failed(job: Job<Data>, error: Error): void {
    const { logger, queue, onRetried, onSetAside } = this.options;
    const fields = { queue, jobId: job.id, data: shortened(job.data), attempt: job.attemptsMade, err: error };
    if (job.finishedOn === undefined) {
      logger.warn({ ...fields, attempts: job.opts.attempts ?? ATTEMPTS }, 'a job failed and is tried again');
      onRetried?.(job);
    } else {
      logger.error(
        fields,
        error instanceof UnrecoverableError ? 'a job cannot be read and is set aside' : 'a job failed too often and is set aside',
      );
      onSetAside(job, error);
    }
  }
}

/** What a job carries may be large if somebody else has written it. */
function shortened(data: unknown): unknown {
  const text = JSON.stringify(data) ?? '';
  return text.length > MAX_LOGGED_CHARACTERS ? `${text.slice(0, MAX_LOGGED_CHARACTERS)}…` : data;
}

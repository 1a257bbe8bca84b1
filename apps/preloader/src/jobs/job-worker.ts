import type { RedisConnection } from '#limiter-redis';
import type { Logger } from '#platform';
import { withDeadline } from '#waiting';
import { ATTEMPTS, KEEP_COMPLETED, KEEP_FAILED, QUEUE_PREFIX } from '#rule-sync';
import { DelayedError, type Job, UnrecoverableError, WaitingError, Worker } from 'bullmq';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Dependencies } from '../dependencies.js';

const OPEN_TIMEOUT_MS = 5_000;
const REOPEN_WAIT_MS = 500;

/** The wait before a job is tried again after an outage, in milliseconds; up to as much again is added at random. */
const POSTPONE_MS = 500;

/** A job that lost its worker more often than this counts as the cause, and fails. */
const MAX_LOST_WORKERS = 10;

const MAX_LOGGED_CHARACTERS = 1_000;

/**
 * The longest time in seconds for which a worker blocks on its connection. BullMQ replaces a connection on which nothing has arrived
 * one second after that, so this bounds how late a dead connection is noticed. An idle queue costs Redis one call in this time.
 */
const MAX_BLOCK_S = 1;

/** BullMQ alone blocks for up to ten seconds while a job is delayed, and the next full preload nearly always is. */
class BrieflyBlockingWorker<Data> extends Worker<Data> {
  override get maximumBlockTimeout(): number {
    return MAX_BLOCK_S;
  }
}

export interface JobWorkerOptions<Data> {
  readonly queue: string;
  readonly redis: RedisConnection;
  readonly concurrency: number;
  /**
   * How long the lock of a job lasts without renewal, in milliseconds. A job whose worker died is resumed after at most twice this
   * time: the lock expires, and two checks for stalled jobs follow, each half as long.
   */
  readonly lockMs: number;
  /** Parses the data of a job as input from outside. Throws, with a message for people, if no attempt could ever succeed. */
  readonly read: (data: unknown) => Data;
  readonly handle: (data: Data, job: Job<Data>, token: string) => Promise<unknown>;
  readonly dependencies: Dependencies;
  readonly logger: Logger;
  readonly onPostponed?: (job: Job<Data>) => void;
  readonly onRetried?: (job: Job<Data>) => void;
  /** Called when `read` has thrown. */
  readonly onUnreadable: (job: Job<Data>) => void;
  /** Called when the last attempt has failed. */
  readonly onFailed: (job: Job<Data>, error: Error) => void;
}

/**
 * A BullMQ worker that waits for Redis instead of breaking without it, and that tells an outage from a job that is at fault. After an
 * outage the job is postponed and loses no attempt. A job at fault is retried, and fails after its last attempt; the queue goes on
 * meanwhile. A job that cannot be parsed fails at once.
 */
export class JobWorker<Data> {
  private worker: Worker<Data> | undefined;
  private opening: Promise<void> | undefined;
  private readonly stopped = new AbortController();
  /** An outage is logged once, not for each job. */
  private outageLogged = false;

  constructor(private readonly options: JobWorkerOptions<Data>) {}

  start(): void {
    this.opening ??= this.open();
  }

  /** @throws Error with the reason while this worker takes no jobs */
  assertRunning(): void {
    const { queue, redis } = this.options;
    if (redis.status !== 'ready') throw new Error(`the queue's Redis is not connected (${redis.status})`);
    if (this.worker?.isRunning() !== true) throw new Error(`no worker runs for ${queue}`);
  }

  /** Takes no further job and waits at most `graceMs` milliseconds for those at work; another worker resumes the others. */
  async stop(graceMs: number): Promise<void> {
    this.stopped.abort();
    await this.opening;
    if (this.worker === undefined) return;
    await withDeadline(this.worker.close(), graceMs, { what: `closing the worker for ${this.options.queue}` }).catch((err: unknown) => {
      this.options.logger.warn({ err }, 'some jobs did not finish in time, another worker resumes them');
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
          void worker.run().catch((err: unknown) => logger.error({ err, queue }, 'a queue worker ended because of an error'));
          return;
        } catch (err) {
          logger.debug({ err, queue }, 'a queue worker could not be opened');
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
      removeOnComplete: KEEP_COMPLETED,
      removeOnFail: KEEP_FAILED,
      drainDelay: MAX_BLOCK_S,
      // The wait after a lost connection. After BullMQ's default of 15 s every rule edit that follows an outage would be late.
      runRetryDelay: 500,
    });
    worker.on('error', (err) => logger.debug({ err, queue }, 'a queue worker reports an error'));
    worker.on('stalled', (jobId) => logger.warn({ jobId, queue }, 'a job lost its worker and is resumed'));
    worker.on('failed', (job, error) => {
      if (job !== undefined) this.failed(job, error);
    });
    return worker;
  }

  private async process(job: Job<Data>, token: string): Promise<unknown> {
    const { handle, dependencies, logger, onPostponed } = this.options;
    const data = this.read(job);
    try {
      const result = await handle(data, job, token);
      this.outageLogged = false;
      return result;
    } catch (error) {
      // The handler gave the job back on purpose.
      if (error instanceof WaitingError) throw error;
      const outage = await dependencies.outageBehind(error);
      if (outage === undefined) throw error;
      if (!this.outageLogged) logger.warn({ jobId: job.id, outage, err: error }, 'a dependency is unavailable, jobs are postponed');
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
    const { logger, queue, onRetried, onFailed } = this.options;
    const fields = { queue, jobId: job.id, data: shortened(job.data), attempt: job.attemptsMade, err: error };
    if (job.finishedOn === undefined) {
      logger.warn({ ...fields, attempts: job.opts.attempts ?? ATTEMPTS }, 'an attempt of a job failed and the job is retried');
      onRetried?.(job);
    } else {
      logger.error(
        fields,
        error instanceof UnrecoverableError ? 'a job cannot be parsed and has failed' : 'a job has failed in every attempt',
      );
      onFailed(job, error);
    }
  }
}

/** The data of a job may be large if another program has written it. */
function shortened(data: unknown): unknown {
  const text = JSON.stringify(data) ?? '';
  return text.length > MAX_LOGGED_CHARACTERS ? `${text.slice(0, MAX_LOGGED_CHARACTERS)}…` : data;
}

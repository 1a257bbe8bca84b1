import type { Redis } from 'ioredis';
import { QueueHandle } from './queue-handle.js';
import {
  ATTEMPTS,
  FIRST_RETRY_MS,
  KEEP_FINISHED,
  KEEP_SET_ASIDE,
  RELOAD_JOB,
  RELOAD_QUEUE,
  type ReloadJobData,
  reloadKey,
} from './queues.js';

/** The producer's end of the queue of changed merchants. */
export class ReloadQueue {
  readonly handle: QueueHandle<ReloadJobData>;

  constructor(redis: Redis, firstRetryMs: number = FIRST_RETRY_MS) {
    this.handle = new QueueHandle(RELOAD_QUEUE, redis, {
      attempts: ATTEMPTS,
      backoff: { type: 'exponential', delay: firstRetryMs, jitter: 0.2 },
      removeOnComplete: KEEP_FINISHED,
      removeOnFail: KEEP_SET_ASIDE,
    });
  }

  /**
   * Asks for a reload of each. One that already waits covers a newer request, because it reads PostgreSQL when it runs;
   * one that is running may have read before the change, so the newest request is kept and runs after it.
   */
  async enqueue(reloads: readonly ReloadJobData[]): Promise<void> {
    if (reloads.length === 0) return;
    await this.handle.use((queue) =>
      queue.addBulk(
        reloads.map((data) => ({
          name: RELOAD_JOB,
          data,
          opts: { deduplication: { id: reloadKey(data.merchantId), keepLastIfActive: true } },
        })),
      ),
    );
  }
}

import type { JobsOptions } from 'bullmq';
import { PLAN_JOB_FORMAT } from './job-data.js';
import { type QueueConnection, QueueHandle } from './queue-handle.js';
import {
  ATTEMPTS,
  FIRST_RETRY_MS,
  KEEP_COMPLETED,
  KEEP_FAILED,
  RELOAD_JOB,
  RELOAD_QUEUE,
  type ReloadJobData,
  reloadKey,
  type Urgency,
} from './queues.js';

/** BullMQ takes jobs without a priority first. */
const BULK_PRIORITY = 10;

/** The producer of reloads of changed merchants. */
export class ReloadQueue {
  readonly handle: QueueHandle<ReloadJobData>;

  constructor(redis: QueueConnection, firstRetryMs: number = FIRST_RETRY_MS) {
    this.handle = new QueueHandle(RELOAD_QUEUE, redis, {
      attempts: ATTEMPTS,
      backoff: { type: 'exponential', delay: firstRetryMs, jitter: 0.2 },
      removeOnComplete: KEEP_COMPLETED,
      removeOnFail: KEEP_FAILED,
    });
  }

  /**
   * Adds a job for each reload. A job of the same merchant that still waits serves a newer request too, because it reads PostgreSQL
   * when it runs. A job that is active may have read before the change, so the newest request is kept and runs after it.
   * An urgent reload does not count on one of a bulk that waits: the merchant then has two, and the second finds nothing newer.
   * Rejects if Redis is unavailable; then some jobs may have been added.
   */
  async enqueue(reloads: readonly ReloadJobData[], urgency: Urgency = 'urgent'): Promise<void> {
    if (reloads.length === 0) return;
    await this.handle.use((queue) =>
      queue.addBulk(
        reloads.map((data) => ({
          name: RELOAD_JOB,
          data: data.plan === undefined ? data : { format: PLAN_JOB_FORMAT, ...data },
          opts: optionsOf(reloadKey(data.merchantId, data.plan), urgency),
        })),
      ),
    );
  }
}

function optionsOf(key: string, urgency: Urgency): JobsOptions {
  return urgency === 'bulk'
    ? { priority: BULK_PRIORITY, deduplication: { id: `bulk-${key}`, keepLastIfActive: true } }
    : { deduplication: { id: key, keepLastIfActive: true } };
}

import { type DefaultJobOptions, Queue } from 'bullmq';
import { withDeadline } from '#waiting';
import type { Cluster, Redis } from 'ioredis';
import { QUEUE_PREFIX } from './queues.js';

/** Opening a queue, or a call on it, fails after this many milliseconds. */
const QUEUE_CALL_TIMEOUT_MS = 5_000;

/** A connection of a producer: to one Redis, or to a cluster. */
export type QueueConnection = Redis | Cluster;

/** A call on a queue failed because its Redis is not connected. */
export class QueueUnavailableError extends Error {
  constructor(name: string, status: string) {
    super(`queue ${name}: Redis is not connected (${status})`);
    this.name = 'QueueUnavailableError';
  }
}

/**
 * A BullMQ queue that fails at once while Redis is unavailable and works again afterwards. BullMQ opens a queue once, and a queue
 * whose opening failed stays broken for ever; here it is discarded and opened anew at the next call.
 */
export class QueueHandle<Data> {
  private opened: Queue<Data> | undefined;

  /** @param redis a producer's connection; the caller closes it */
  constructor(
    readonly name: string,
    private readonly redis: QueueConnection,
    private readonly defaultJobOptions: DefaultJobOptions,
  ) {}

  get connected(): boolean {
    return this.redis.status === 'ready';
  }

  /** Runs `call` on the open queue. Rejects with QueueUnavailableError if Redis is not connected, or after QUEUE_CALL_TIMEOUT_MS. */
  async use<T>(call: (queue: Queue<Data>) => Promise<T>): Promise<T> {
    const queue = await this.open();
    return withDeadline(call(queue), QUEUE_CALL_TIMEOUT_MS, { what: `a call on queue ${this.name}` });
  }

  async close(): Promise<void> {
    const queue = this.opened;
    this.opened = undefined;
    await queue?.close().catch(() => undefined);
  }

  private async open(): Promise<Queue<Data>> {
    if (!this.connected) throw new QueueUnavailableError(this.name, this.redis.status);
    const queue = (this.opened ??= this.create());
    try {
      await withDeadline(queue.waitUntilReady(), QUEUE_CALL_TIMEOUT_MS, { what: `opening queue ${this.name}` });
    } catch (error) {
      if (this.opened === queue) await this.close();
      throw error;
    }
    return queue;
  }

  private create(): Queue<Data> {
    const queue = new Queue<Data>(this.name, {
      connection: this.redis,
      prefix: QUEUE_PREFIX,
      defaultJobOptions: this.defaultJobOptions,
    });
    // The owner of the connection logs its errors. Without a listener here they would end the process.
    queue.on('error', () => undefined);
    return queue;
  }
}

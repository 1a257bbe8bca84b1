import type { RedisConnection } from '../connection/redis-connection.js';
import { packRefunds, refundsOf, type GivenBack } from './refund-call.js';
import { Script } from '../scripts.js';
import type { ServerClock } from '../connection/server-clock.js';

const script = new Script('refund');

/** Sends together what requests of the same turn of the event loop give back. */
export class RefundSender {
  private waiting: GivenBack[] = [];

  /** @param batchSize requests in one script call, at most */
  constructor(
    private readonly redis: RedisConnection,
    private readonly clock: ServerClock,
    private readonly batchSize: number,
  ) {}

  add(request: GivenBack): void {
    if (this.waiting.push(request) > 1) return;
    setImmediate(() => {
      const requests = this.waiting;
      this.waiting = [];
      for (let i = 0; i < requests.length; i += this.batchSize) this.send(requests.slice(i, i + this.batchSize));
    });
  }

  private send(requests: readonly GivenBack[]): void {
    const refunds = refundsOf(requests, this.clock.nowMs);
    if (refunds.length === 0) return;
    // Not tried again: a call whose answer was lost may have been carried out.
    script.runPacked(this.redis, () => packRefunds(refunds, this.clock.given)).catch(() => {});
  }
}

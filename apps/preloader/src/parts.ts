import { isDatabaseUnavailable } from '#rules-db';
import { withDeadline } from '#waiting';
import type { Redis } from 'ioredis';
import type { DataSource } from 'typeorm';

/** A part that does not answer within this is away. */
const ANSWER_TIMEOUT_MS = 1_000;

/** The parts that every job needs, and whether they answer. */
export class Parts {
  constructor(
    private readonly dataSource: DataSource,
    private readonly redis: Redis,
  ) {}

  async postgres(): Promise<void> {
    if (!this.dataSource.isInitialized) throw new Error('not connected yet');
    await withDeadline(this.dataSource.query('SELECT 1'), ANSWER_TIMEOUT_MS, { what: 'SELECT 1' });
  }

  async redisAnswers(): Promise<void> {
    await withDeadline(this.redis.ping(), ANSWER_TIMEOUT_MS, { what: 'PING' });
  }

  /**
   * After something failed: was it because a part is away? Besides what the error says the parts are asked, because
   * drivers name the same outage in a dozen ways. Undefined means that the fault lies in the work itself.
   */
  async outageBehind(error: unknown): Promise<'postgres' | 'redis' | undefined> {
    if (isDatabaseUnavailable(error)) return 'postgres';
    const [postgres, redis] = await Promise.allSettled([this.postgres(), this.redisAnswers()]);
    if (postgres.status === 'rejected') return 'postgres';
    if (redis.status === 'rejected') return 'redis';
    return undefined;
  }
}

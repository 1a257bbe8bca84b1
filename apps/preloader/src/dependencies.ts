import { assertAnswers, type RedisConnection } from '#limiter-redis';
import { assertConnected, isDatabaseUnavailable } from '#rules-db';
import { withDeadline } from '#waiting';
import type { DataSource } from 'typeorm';

/** A dependency that does not answer within this many milliseconds counts as unavailable. */
const ANSWER_TIMEOUT_MS = 1_000;

/** The servers that every job depends on, PostgreSQL and the Redis of buckets and snapshots. Each method asks whether they answer. */
export class Dependencies {
  constructor(
    private readonly dataSource: DataSource,
    private readonly redis: readonly RedisConnection[],
  ) {}

  /** @throws Error if PostgreSQL is not connected or does not answer in time */
  async postgres(): Promise<void> {
    assertConnected(this.dataSource);
    await withDeadline(this.dataSource.query('SELECT 1'), ANSWER_TIMEOUT_MS, { what: 'SELECT 1' });
  }

  /** @throws Error if Redis is not connected or does not answer in time; of a cluster, one of its masters */
  async redisAnswers(): Promise<void> {
    await withDeadline(Promise.all([...new Set(this.redis)].map(assertAnswers)), ANSWER_TIMEOUT_MS, { what: 'PING' });
  }

  /**
   * Tells which dependency is unavailable after work failed with `error`; undefined means that the work itself is at fault.
   * The error alone is not enough, because drivers name the same outage in a dozen ways: therefore both dependencies are asked.
   */
  async outageBehind(error: unknown): Promise<'postgres' | 'redis' | undefined> {
    if (isDatabaseUnavailable(error)) return 'postgres';
    const [postgres, redis] = await Promise.allSettled([this.postgres(), this.redisAnswers()]);
    if (postgres.status === 'rejected') return 'postgres';
    if (redis.status === 'rejected') return 'redis';
    return undefined;
  }
}

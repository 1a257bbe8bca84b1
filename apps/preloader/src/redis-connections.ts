import { createRedis, failureOf, type RedisConnection } from '#limiter-redis';
import type { Config, Logger } from '#platform';

/** The preloader's connections: one for buckets, one for snapshots, which may be the same, and for the queue one to add jobs and one that its workers block on. */
export interface RedisConnections {
  readonly buckets: RedisConnection;
  readonly snapshots: RedisConnection;
  readonly producer: RedisConnection;
  readonly worker: RedisConnection;
  close(): void;
}

export function connectRedis(
  { redisUrl, snapshotRedisUrl = redisUrl, queueRedisUrl }: Config<'preloader'>,
  logger: Logger,
): RedisConnections {
  const connect = (url: string, purpose: Parameters<typeof createRedis>[1], name: string): RedisConnection => {
    let away = false;
    const redis = createRedis(url, purpose, {
      onError: (error) => {
        // An outage is logged once, not for each attempt to reconnect. The error itself is not logged, because it holds the command,
        // and the command of a failed login holds the password.
        const { code, meaning, said } = failureOf(error);
        if (!away) logger.warn({ connection: name, code, said }, `Redis is away: ${meaning}`);
        away = true;
      },
    });
    redis.on('ready', () => {
      if (away) logger.info({ connection: name }, 'Redis is back');
      away = false;
    });
    return redis;
  };
  const buckets = connect(redisUrl, 'limiter', snapshotRedisUrl === redisUrl ? 'snapshots' : 'buckets');
  const snapshots = snapshotRedisUrl === redisUrl ? buckets : connect(snapshotRedisUrl, 'limiter', 'snapshots');
  const producer = connect(queueRedisUrl, 'queue-producer', 'queue producer');
  const worker = connect(queueRedisUrl, 'queue-worker', 'queue worker');
  return {
    buckets,
    snapshots,
    producer,
    worker,
    close: () => new Set([buckets, snapshots, producer, worker]).forEach((redis) => redis.disconnect()),
  };
}

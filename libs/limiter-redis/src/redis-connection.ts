import { Redis, type RedisOptions } from 'ioredis';

type FailureOptions = Pick<RedisOptions, 'enableOfflineQueue' | 'maxRetriesPerRequest' | 'autoResendUnfulfilledCommands' | 'autoResubscribe'>;

/** What a connection is for decides what it does when Redis is away. */
export type RedisPurpose = 'limiter' | 'queue-producer' | 'queue-worker' | 'subscriber';

const FAIL_AT_ONCE: FailureOptions = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  // Commands in flight when the connection broke may have run: sending them again would take their tokens twice.
  autoResendUnfulfilledCommands: false,
};

const OPTIONS: Record<RedisPurpose, FailureOptions> = {
  limiter: FAIL_AT_ONCE,
  'queue-producer': { enableOfflineQueue: false, maxRetriesPerRequest: 1 },
  'queue-worker': { maxRetriesPerRequest: null },
  subscriber: { autoResubscribe: true, maxRetriesPerRequest: null },
};

/**
 * A connection that keeps trying: up to half a second between attempts. Errors of the connection itself go to
 * `onError`; commands reject on their own.
 */
export function createRedis(url: string, purpose: RedisPurpose, { onError = () => {} }: { onError?: (error: Error) => void } = {}): Redis {
  const redis = new Redis(url, {
    connectionName: `tollgate-${purpose}`,
    connectTimeout: 1000,
    keepAlive: 10_000,
    noDelay: true,
    retryStrategy: (attempt: number) => Math.min(500, 25 * 2 ** Math.min(attempt, 5)),
    ...OPTIONS[purpose],
  });
  redis.on('error', onError);
  return redis;
}

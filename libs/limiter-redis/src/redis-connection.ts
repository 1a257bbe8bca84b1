import { Redis, type Cluster, type RedisOptions } from 'ioredis';
import { watchHandshake } from './handshake.js';
import { watchHeartbeat } from './heartbeat.js';
import { failureOf } from './redis-error.js';

type FailureOptions = Pick<
  RedisOptions,
  'enableOfflineQueue' | 'maxRetriesPerRequest' | 'autoResendUnfulfilledCommands' | 'autoResubscribe' | 'commandTimeout'
>;

/** What a connection is for decides what it does when Redis is away. */
export type RedisPurpose = 'limiter' | 'queue-producer' | 'queue-worker' | 'subscriber';

const FAIL_AT_ONCE: FailureOptions = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  // Commands in flight when the connection broke may have run: sending them again would take their tokens twice.
  autoResendUnfulfilledCommands: false,
  // For what has no shorter deadline of its own. As long as the heartbeat needs to replace a dead connection.
  commandTimeout: 5000,
};

const OPTIONS: Record<RedisPurpose, FailureOptions> = {
  limiter: FAIL_AT_ONCE,
  'queue-producer': { enableOfflineQueue: false, maxRetriesPerRequest: 1 },
  'queue-worker': { maxRetriesPerRequest: null },
  subscriber: { autoResubscribe: true, maxRetriesPerRequest: null },
};

/** A server that stays a replica, or loads for minutes, must not be asked for a new connection by every command. */
const REPLACED_AT_MOST_EVERY_MS = 250;

/**
 * A connection that keeps trying: up to half a second between attempts. It is replaced when nothing comes back on it, and when
 * the server says that it cannot serve, because after a failover another one may be at the same address. Errors of the
 * connection itself go to `onError`; commands reject on their own, and are never sent again for one of ours.
 */
export function createRedis(url: string, purpose: RedisPurpose, { onError = () => {} }: { onError?: (error: Error) => void } = {}): Redis {
  let replacedAtMs = -Infinity;
  const redis = new Redis(url, {
    connectionName: `tollgate-${purpose}`,
    connectTimeout: 1000,
    // What was sent on a connection that is being replaced may still be answered by then.
    disconnectTimeout: 250,
    keepAlive: 10_000,
    noDelay: true,
    retryStrategy: (attempt: number) => Math.min(500, 25 * 2 ** Math.min(attempt, 5)),
    // `true` replaces the connection and rejects the command; 2 would send it again, and others with it.
    reconnectOnError: (error: Error) => {
      if (!failureOf(error).needsNewConnection || performance.now() - replacedAtMs < REPLACED_AT_MOST_EVERY_MS) return false;
      replacedAtMs = performance.now();
      return true;
    },
    ...OPTIONS[purpose],
  });
  redis.on('error', onError);
  watchHandshake(redis);
  watchHeartbeat(redis);
  // BullMQ's workers block on a copy of their connection. A heartbeat would wait behind them; they have a deadline of their own.
  const duplicate = redis.duplicate.bind(redis);
  redis.duplicate = (override) => {
    const copy = duplicate(override);
    watchHandshake(copy);
    return copy;
  };
  return redis;
}

/** Gives a connection up and opens a new one. What is under way on it fails: it may have been carried out, or not. */
export function reconnect(redis: Redis | Cluster): void {
  if (!isCluster(redis)) redis.stream?.destroy();
  else if (redis.status === 'ready') redis.disconnect(true);
}

function isCluster(redis: Redis | Cluster): redis is Cluster {
  return redis.isCluster;
}

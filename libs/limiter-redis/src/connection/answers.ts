import { connectionTo, mastersOf } from './per-master.js';
import { isCluster, type RedisConnection } from './redis-connection.js';

/** Rejects if the server does not answer; of a cluster, if any master that has slots does not. Not bounded in time. */
export async function assertAnswers(redis: RedisConnection): Promise<void> {
  if (!isCluster(redis)) {
    await redis.ping();
    return;
  }
  const masters = [...mastersOf(redis)];
  if (masters.length === 0) throw new Error('the masters of the Redis Cluster are not known');
  await Promise.all(masters.map((master) => assertMasterAnswers(redis, master)));
}

async function assertMasterAnswers(redis: Parameters<typeof connectionTo>[0], master: string): Promise<void> {
  const connection = connectionTo(redis, master);
  if (connection === undefined) throw new Error(`there is no connection to ${master}`);
  await connection.ping();
}

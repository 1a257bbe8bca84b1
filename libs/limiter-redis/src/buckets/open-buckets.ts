import { ClusterBucketStore } from './cluster-bucket-store.js';
import { RedisBucketStore, type RedisBuckets, type RedisBucketStoreOptions } from './redis-bucket-store.js';
import { isCluster, type RedisConnection } from '../connection/redis-connection.js';

/** The store of buckets at the end of a connection, whatever that leads to. */
export function openBuckets(redis: RedisConnection, options: RedisBucketStoreOptions = {}): RedisBuckets {
  return isCluster(redis) ? new ClusterBucketStore(redis, options) : new RedisBucketStore(redis, options);
}

import { createRedis } from '#limiter-redis';
import type { Redis } from 'ioredis';
import { freshRedis, type TestRedis } from './services.js';

/** A Redis that the tests of one file share, with a connection as the limiter has it. It is to be awaited at the top of the file, and both end with the file. */
export async function redisForFile(): Promise<{ server: TestRedis; redis: Redis }> {
  const server = await freshRedis();
  const redis = createRedis(server.url, 'limiter') as Redis;
  afterAll(async () => {
    redis.disconnect();
    await server.stop();
  });
  await new Promise((resolve) => redis.once('ready', resolve));
  return { server, redis };
}

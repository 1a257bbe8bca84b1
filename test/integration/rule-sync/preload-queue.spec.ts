import { Queue, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { createRedis } from '#limiter-redis';
import { PRELOAD_QUEUE, type PreloadJobData, PreloadQueue, QUEUE_PREFIX } from '#rule-sync';
import { freshRedis, type TestRedis } from '../../support/services.js';
import { until } from '../../support/until.js';

const EVERY_MS = 600_000;

describe('PreloadQueue, with Redis', () => {
  let server: TestRedis;
  let redis: Redis;
  let queue: Queue<PreloadJobData>;
  let preloads: PreloadQueue;

  beforeAll(async () => {
    server = await freshRedis();
    redis = createRedis(server.url, 'queue-producer') as Redis;
    await until('Redis', () => redis.status === 'ready');
    queue = new Queue(PRELOAD_QUEUE, { connection: redis, prefix: QUEUE_PREFIX });
    queue.on('error', () => undefined);
    preloads = new PreloadQueue(redis);
  });
  beforeEach(() => redis.flushall());
  afterAll(async () => {
    await preloads.handle.close();
    await queue.close();
    redis.disconnect();
    await server.stop();
  });

  const counts = () => queue.getJobCounts('waiting', 'active', 'delayed');

  test('schedules full preloads once, the first one now, however many replicas ask at the same time', async () => {
    const written = await Promise.all(Array.from({ length: 8 }, () => preloads.ensureSchedule(EVERY_MS)));
    expect(written).toContain(true);
    expect(await queue.getJobSchedulersCount()).toBe(1);
    expect(await counts()).toMatchObject({ waiting: 1, delayed: 0 });
    expect(await preloads.hasSchedule()).toBe(true);
    expect(await preloads.ensureSchedule(EVERY_MS)).toBe(false);
  });

  test('replaces the schedule when the interval changes', async () => {
    await preloads.ensureSchedule(EVERY_MS);
    expect(await preloads.ensureSchedule(EVERY_MS * 2)).toBe(true);
    expect(await queue.getJobScheduler('every-interval')).toMatchObject({ every: EVERY_MS * 2 });
    expect(await queue.getJobSchedulersCount()).toBe(1);
  });

  test('requests one run at boot, and none if one is already waiting', async () => {
    await Promise.all(Array.from({ length: 8 }, () => preloads.requestAtBoot()));
    expect(await counts()).toMatchObject({ waiting: 1 });
    await redis.flushall();
    await preloads.ensureSchedule(EVERY_MS);
    await preloads.requestAtBoot();
    expect(await counts()).toMatchObject({ waiting: 1 });
  });

  test('joins an unfinished request on command', async () => {
    const first = await preloads.request();
    expect(first.joined).toBe(false);
    expect(await preloads.request()).toEqual({ jobId: first.jobId, joined: true });
    expect(await preloads.look(first.jobId)).toEqual({ state: 'waiting', walk: undefined, error: null });
    expect(await preloads.look('another')).toBeUndefined();
  });

  test('never runs two full preloads at once, over all workers', async () => {
    await preloads.ensureSchedule(EVERY_MS);
    const connections = [1, 2, 3].map(() => createRedis(server.url, 'queue-worker') as Redis);
    let active = 0;
    let most = 0;
    let finished = 0;
    const workers = connections.map(
      (connection) =>
        new Worker(
          PRELOAD_QUEUE,
          async () => {
            most = Math.max(most, ++active);
            // Long enough in the order of things for another worker to be handed the next job, if it could be.
            for (let i = 0; i < 20; i++) await redis.ping();
            active--;
            finished++;
          },
          { connection, prefix: QUEUE_PREFIX, concurrency: 2 },
        ),
    );
    try {
      for (let i = 0; i < 4; i++) await queue.add('preload-all', { requestedBy: 'command' });
      await until('all five', () => finished === 5);
      expect(most).toBe(1);
    } finally {
      await Promise.all(workers.map((worker) => worker.close()));
      for (const connection of connections) connection.disconnect();
    }
  });

  test('fails at once while Redis is gone, and works again when it is back', async () => {
    await preloads.request();
    await server.kill();
    await until('Redis is seen to be gone', () => !preloads.handle.connected);
    await expect(preloads.request()).rejects.toThrow('not connected');
    await server.restart();
    const { jobId } = await until('a request', () => preloads.request());
    expect(await preloads.look(jobId)).toMatchObject({ state: 'waiting' });
  });
});

import { setImmediate as aTurn } from 'node:timers/promises';
import { Queue, Worker, type Job } from 'bullmq';
import type { Redis } from 'ioredis';
import { createRedis } from '#limiter-redis';
import { createRegistry } from '#platform';
import { PRELOAD_JOB, PRELOAD_QUEUE, QUEUE_PREFIX, type PreloadJobData, type PreloadWalk } from '#rule-sync';
import type { FullPreload } from '../../../apps/preloader/src/full-preload/full-preload.js';
import { PreloadJob } from '../../../apps/preloader/src/full-preload/preload-job.js';
import { PreloaderMetrics } from '../../../apps/preloader/src/metrics.js';
import { freshRedis, type TestRedis } from '../../support/services.js';
import { until } from '../../support/until.js';

const LOCK_MS = 60_000;
const BEGUN: PreloadWalk = { jobId: '', cursor: null, done: 0, skipped: 0, total: 9, startedAtMs: 0, resumes: 0 };
const walkAt = (jobId: string, done: number): PreloadWalk => ({ ...BEGUN, jobId, cursor: `m${done}`, done });

describe('a full preload whose job is taken over by another worker', () => {
  let server: TestRedis;
  let redis: Redis;
  let queue: Queue<PreloadJobData>;
  let worker: Worker<PreloadJobData>;

  beforeAll(async () => {
    server = await freshRedis();
    redis = createRedis(server.url, 'queue-worker') as Redis;
    await until('Redis', () => redis.status === 'ready');
    const options = { connection: redis, prefix: QUEUE_PREFIX };
    queue = new Queue(PRELOAD_QUEUE, options);
    worker = new Worker(PRELOAD_QUEUE, null, { ...options, autorun: false });
    await worker.waitUntilReady();
  });
  afterAll(async () => {
    await worker.close();
    await queue.close();
    redis.disconnect();
    await server.stop();
  });

  /** Runs a job whose walk is `walk`. */
  function run(job: Job<PreloadJobData>, token: string, walk: FullPreload['continue']): Promise<unknown> {
    const preload = { begin: (jobId: string) => Promise.resolve({ ...BEGUN, jobId }), continue: walk };
    const metrics = new PreloaderMetrics(createRegistry('preloader'), () => Promise.resolve(0));
    const logger = { info: () => undefined };
    const signal = new AbortController().signal;
    const options = { preload, metrics, logger, lockMs: LOCK_MS, signal };
    return new PreloadJob(options as unknown as ConstructorParameters<typeof PreloadJob>[0]).run(job.data, job, token);
  }

  async function taken(token: string): Promise<Job<PreloadJobData>> {
    await queue.add(PRELOAD_JOB, { requestedBy: 'command' });
    return (await worker.getNextJob(token)) as Job<PreloadJobData>;
  }

  /** As if the lock had ended and another worker had got the job and come further. */
  async function takeOver(job: Job<PreloadJobData>): Promise<void> {
    await redis.set(`${QUEUE_PREFIX}:${PRELOAD_QUEUE}:${job.id}:lock`, 'other');
    await job.updateData({ requestedBy: 'command', walk: walkAt(String(job.id), 8) });
  }
  const stored = async (job: Job<PreloadJobData>): Promise<number | undefined> => (await queue.getJob(String(job.id)))?.data.walk?.done;

  test('ends at a chunk after the save that finds out, and does not overwrite how far the other came', async () => {
    const job = await taken('mine');
    const ended = run(job, 'mine', async (walk, onReached) => {
      await takeOver(job);
      for (const longestMs = performance.now() + 5_000; performance.now() < longestMs; await aTurn()) onReached(walkAt(walk.jobId, 1));
      throw new Error('the walk went on');
    });
    await expect(ended).rejects.toThrow('taken over');
    expect(await stored(job)).toBe(8);
  });

  test('fails at its end if it is taken over behind its last chunk', async () => {
    const job = await taken('mine');
    const ended = run(job, 'mine', async (walk, onReached) => {
      onReached(walkAt(walk.jobId, 1));
      await until('the first save', async () => (await stored(job)) === 1);
      await takeOver(job);
      return walkAt(walk.jobId, 9);
    });
    await expect(ended).rejects.toThrow('taken over');
    expect(await stored(job)).toBe(8);
  });

  test('a walk that fails is left as it was saved, and nothing is being saved any more', async () => {
    const job = await taken('mine');
    const ended = run(job, 'mine', (walk, onReached) => {
      onReached(walkAt(walk.jobId, 3));
      return Promise.reject(new Error('PostgreSQL is away'));
    });
    await expect(ended).rejects.toThrow('PostgreSQL is away');
    expect(await stored(job)).toBe(3);
  });

  test('a walk that ends while its first save is under way is saved where it ended', async () => {
    const job = await taken('mine');
    const ended = run(job, 'mine', (walk, onReached) => {
      onReached(walkAt(walk.jobId, 1));
      onReached(walkAt(walk.jobId, 2));
      return Promise.resolve(walkAt(walk.jobId, 9));
    });
    expect(await ended).toMatchObject({ merchants: 9 });
    expect(await stored(job)).toBe(9);
  });
});

import { Queue, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import type { DataSource } from 'typeorm';
import { createRedis } from '#limiter-redis';
import { OutboxRelay, QUEUE_PREFIX, RELOAD_QUEUE, type ReloadJobData, ReloadQueue, reloadKey } from '#rule-sync';
import { createDataSource, drainOutbox, migrate } from '#rules-db';
import { freshDatabase, freshRedis, type TestDatabase, type TestRedis } from '../../support/services.js';
import { until } from '../../support/until.js';

describe('OutboxRelay, with PostgreSQL and Redis', () => {
  let database: TestDatabase;
  let server: TestRedis;
  let dataSource: DataSource;
  let redis: Redis;
  let queue: Queue<ReloadJobData>;
  let reloads: ReloadQueue;
  const relays: OutboxRelay[] = [];

  beforeAll(async () => {
    [database, server] = await Promise.all([freshDatabase(), freshRedis()]);
    dataSource = createDataSource(database.url);
    await migrate(dataSource);
    await dataSource.initialize();
  });
  beforeEach(async () => {
    await dataSource.query('TRUNCATE outbox');
    redis = createRedis(server.url, 'queue-producer') as Redis;
    await until('Redis', () => redis.status === 'ready');
    await redis.flushall();
    reloads = new ReloadQueue(redis);
    queue = new Queue(RELOAD_QUEUE, { connection: redis, prefix: QUEUE_PREFIX });
    queue.on('error', () => undefined);
    // A queue whose opening fails, because a test takes Redis away, stays broken.
    await queue.waitUntilReady();
  });
  afterEach(async () => {
    await Promise.all(relays.splice(0).map((relay) => relay.stop()));
    await reloads.handle.close();
    await queue.close();
    redis.disconnect();
  });
  afterAll(async () => {
    await dataSource.destroy();
    await Promise.all([database.drop(), server.stop()]);
  });

  function relay(changes: Partial<ConstructorParameters<typeof OutboxRelay>[0]> = {}): OutboxRelay {
    const made = new OutboxRelay({
      drain: (max, publish, from) => drainOutbox(dataSource, max, publish, undefined, from),
      enqueue: (jobs, urgency) => reloads.enqueue(jobs, urgency),
      canEnqueue: () => reloads.handle.connected,
      pollMs: 20,
      ...changes,
    });
    relays.push(made);
    return made;
  }

  const changed = (...rows: [string | null, number][]) =>
    Promise.all(rows.map((row) => dataSource.query('INSERT INTO outbox (merchant_id, version) VALUES ($1, $2)', row)));

  const rowsLeft = async () => ((await dataSource.query('SELECT count(*)::int AS n FROM outbox')) as [{ n: number }])[0].n;
  const outboxEmpty = () => until('an empty outbox', async () => (await rowsLeft()) === 0);
  const waiting = async () => (await queue.getWaiting()).map(({ data }) => data);

  test('moves rows of the outbox to the queue', async () => {
    await changed(['acme', 3], [null, 7]);
    const counted: number[] = [];
    relay({ onRelayed: (rows) => counted.push(rows) }).start();
    await outboxEmpty();
    const jobs = await waiting();
    expect(jobs).toHaveLength(2);
    expect(jobs).toContainEqual({ merchantId: 'acme', version: 3, changedAtMs: expect.any(Number) as number });
    expect(jobs).toContainEqual({ merchantId: null, version: 7, changedAtMs: expect.any(Number) as number });
    expect(Math.abs(Date.now() - (jobs[0]?.changedAtMs ?? 0))).toBeLessThan(60_000);
    expect(counted.reduce((sum, rows) => sum + rows, 0)).toBe(2);
  });

  test('makes one job of many changes of a merchant, also when they are made one after the other', async () => {
    relay().start();
    for (let version = 1; version <= 10; version++) await changed(['acme', version]);
    await outboxEmpty();
    expect(await waiting()).toHaveLength(1);
  });

  test('queues another reload when a merchant changes while it is being reloaded', async () => {
    const seen: number[] = [];
    let finishFirst: () => void = () => undefined;
    const first = new Promise<void>((resolve) => (finishFirst = resolve));
    const workerRedis = createRedis(server.url, 'queue-worker') as Redis;
    const worker = new Worker<ReloadJobData>(
      RELOAD_QUEUE,
      async ({ data }) => {
        seen.push(data.version);
        if (data.version === 1) await first;
      },
      { connection: workerRedis, prefix: QUEUE_PREFIX, concurrency: 4 },
    );
    try {
      relay().start();
      await changed(['acme', 1]);
      await until('the first reload', () => seen.length === 1);
      for (const version of [2, 3, 4]) await changed(['acme', version]);
      await outboxEmpty();
      expect(seen).toEqual([1]);
      finishFirst();
      await until('the second reload', () => seen.length === 2);
      expect(seen).toEqual([1, 4]);
    } finally {
      await worker.close();
      workerRedis.disconnect();
    }
  });

  test('lets an edit, and the edit of a plan, overtake the many merchants of one transaction', async () => {
    const MANY = 150;
    await dataSource.query(`INSERT INTO outbox (merchant_id, version) SELECT 'm' || i, 1 FROM generate_series(1, $1::int) AS i`, [MANY]);
    relay().start();
    await outboxEmpty();
    await dataSource.query(`INSERT INTO outbox (plan, version) VALUES ('pro', 2)`);
    // Its reload waits among the many already.
    await changed(['m150', 2]);
    await outboxEmpty();

    const order: string[] = [];
    const workerRedis = createRedis(server.url, 'queue-worker') as Redis;
    const worker = new Worker<ReloadJobData>(
      RELOAD_QUEUE,
      ({ data }) => Promise.resolve(void order.push(`${data.plan ?? data.merchantId} ${data.version}`)),
      { connection: workerRedis, prefix: QUEUE_PREFIX, concurrency: 1 },
    );
    try {
      await until('all reloads', () => order.length === MANY + 2);
      expect(order.slice(0, 2)).toEqual(['pro 2', 'm150 2']);
      expect(new Set(order).size).toBe(MANY + 2);
    } finally {
      await worker.close();
      workerRedis.disconnect();
    }
  });

  test('relays an edit before the rest of a large transaction that was written first', async () => {
    // A second ago: the times of two transactions that follow each other may be the same millisecond.
    await dataSource.query(
      `INSERT INTO outbox (merchant_id, version, created_at) SELECT 'm' || i, 1, now() - interval '1 second' FROM generate_series(1, 500) AS i`,
    );
    await changed(['acme', 2]);
    const told: [string, number][] = [];
    const enqueue = (jobs: ReloadJobData[], urgency: string) => Promise.resolve(void told.push([urgency, jobs.length]));
    relay({ enqueue, batchRows: 200 }).start();
    await outboxEmpty();
    // The first 200, then the newest, among which is the edit, and then the rest.
    expect(told).toEqual([
      ['bulk', 200],
      ['urgent', 1],
      ['bulk', 99],
      ['bulk', 200],
      ['bulk', 1],
    ]);
  });

  test('keeps rows whose publishing failed, and relays them later', async () => {
    let failures = 0;
    const told: string[] = [];
    relay({
      enqueue: async (jobs) => {
        if (failures++ < 5) throw new Error('not now');
        await reloads.enqueue(jobs);
      },
      onFailing: (error) => told.push(error.message),
      onHealed: () => told.push('healed'),
    }).start();
    await changed(['acme', 1]);
    await until('a few failures', () => failures >= 2);
    expect(await rowsLeft()).toBe(1);
    await outboxEmpty();
    await until('healed', () => told.includes('healed'));
    expect(told).toEqual(['not now', 'healed']);
    expect(await waiting()).toHaveLength(1);
  });

  test('keeps the rows, and opens no transaction, while Redis is gone', async () => {
    relay().start();
    await server.kill();
    await until('Redis is seen to be gone', () => !reloads.handle.connected);
    await changed(['acme', 1]);
    const open = () =>
      dataSource.query(`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'`) as Promise<
        unknown[]
      >;
    await until('no open transaction', async () => (await open()).length === 0);
    expect(await rowsLeft()).toBe(1);
    await server.restart();
    await outboxEmpty();
    expect(await waiting()).toHaveLength(1);
  });

  test('several relays together lose no row', async () => {
    for (let i = 0; i < 3; i++) relay({ batchRows: 10 }).start();
    await dataSource.query(`INSERT INTO outbox (merchant_id, version) SELECT 'm-' || n, n FROM generate_series(1, 300) n`);
    await outboxEmpty();
    await until('all jobs', async () => (await queue.getWaitingCount()) === 300);
  });

  test('a merchant whose job died with its Redis can be reloaded again', async () => {
    // What is left when a queue's data is half gone: the mark of a job, and no job.
    await redis.set(`${QUEUE_PREFIX}:${RELOAD_QUEUE}:de:${reloadKey('acme')}`, 'lost');
    relay().start();
    await changed(['acme', 2]);
    await outboxEmpty();
    expect(await waiting()).toHaveLength(1);
  });

  test('stops after the current round', async () => {
    const stopping = relay({ pollMs: 60_000 });
    stopping.start();
    await changed(['acme', 1]);
    await stopping.stop();
    expect(await rowsLeft()).toBeLessThanOrEqual(1);
  });
});

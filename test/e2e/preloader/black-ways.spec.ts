import { Forwarder } from '../../support/forwarder.mjs';
import { PATIENCE } from '../../support/patience.mjs';
import type { RunningApp } from '../../support/processes.js';
import { until } from '../../support/until.js';
import { BY, merchant } from '../../support/factories/merchants.js';
import { House, metric } from './house.js';

/**
 * The ways to Redis and PostgreSQL go black: they accept and acknowledge, and nobody answers. No connection is told, so each has
 * to find out by itself, and while the way is black the new ones find nobody either. The tests wait for that most of the time, so
 * they run at once, each in a house of its own.
 */

/** Longer than it takes to notice: the heartbeat of a connection, and the longest statement of the preloader. */
const NOTICED_WITHIN_MS = 20_000;

/** A preloader behind ways that can go black, and what a test asks of it. */
class Ways {
  private constructor(
    readonly house: House,
    readonly toRedis: Forwarder,
    readonly toPostgres: Forwarder,
    readonly app: RunningApp,
  ) {}

  /** They are open, and an edit has passed, when the test begins. */
  static async during(test: (ways: Ways) => Promise<void>): Promise<void> {
    const house = await House.open();
    const databaseUrl = new URL(house.databaseUrl);
    const toRedis = await Forwarder.to(house.redisServer.port);
    const toPostgres = await Forwarder.to(Number(databaseUrl.port));
    databaseUrl.host = `127.0.0.1:${toPostgres.port}`;
    try {
      const app = await house.preloader({ REDIS_URL: toRedis.url, DATABASE_URL: databaseUrl.href });
      const ways = new Ways(house, toRedis, toPostgres, app);
      await app.waitForLog(({ msg }) => msg === 'full preload done', 30_000);
      await house.merchants.create(merchant('before'), BY);
      await ways.carried('before');
      await test(ways);
    } finally {
      toRedis.close();
      toPostgres.close();
      await house.close();
    }
  }

  /** How long it takes from now until a merchant's snapshot is in Redis. */
  readonly carried = async (id: string, withinMs = 15_000): Promise<number> => {
    const startMs = performance.now();
    await until(`the snapshot of ${id}`, () => this.house.snapshots.read(id), withinMs);
    return performance.now() - startMs;
  };

  readonly ready = async (): Promise<boolean> => {
    const answer = await fetch(`${this.app.managementUrl}/readyz`);
    await answer.arrayBuffer();
    return answer.status === 200;
  };
}

const withWays = (test: (ways: Ways) => Promise<void>) => () => Ways.during(test);

test.concurrent(
  'after Redis was unreachable, an edit made meanwhile reaches it, and a full preload runs on command',
  withWays(async ({ house, app, toRedis, carried, ready }) => {
    toRedis.blackHole();
    const before = toRedis.accepted;
    await house.merchants.create(merchant('during'), BY);
    // Five connections: snapshots, producer, worker, and two that the workers block on. All of them have been replaced at least once.
    await until('all connections are replaced', () => toRedis.accepted >= before + 10, NOTICED_WITHIN_MS);
    expect(await ready()).toBe(false);
    toRedis.open();
    const ms = await carried('during');
    expect(ms).toBeLessThan(3_000 * PATIENCE);
    await until('ready', ready);
    const { jobId } = await house.preloads.request();
    await until('the full preload', async () => (await house.preloads.look(jobId))?.state === 'completed', 15_000);
    expect(await metric(app, 'tollgate_jobs_failed')).toBe(0);
  }),
);

test.concurrent(
  'connections to Redis that stop answering are replaced while new ones work',
  withWays(async ({ house, toRedis, carried, ready }) => {
    toRedis.swallow();
    const before = toRedis.accepted;
    await house.merchants.create(merchant('during'), BY);
    await carried('during', NOTICED_WITHIN_MS);
    await until('all connections are replaced', () => toRedis.accepted >= before + 5, NOTICED_WITHIN_MS);
    await until('ready', ready);
  }),
);

test.concurrent(
  'after PostgreSQL was unreachable, an edit made meanwhile reaches Redis',
  withWays(async ({ house, toPostgres, carried, ready }) => {
    toPostgres.blackHole();
    const before = toPostgres.accepted;
    await house.merchants.create(merchant('during'), BY);
    await until('new connections are tried', () => toPostgres.accepted >= before + 2, NOTICED_WITHIN_MS);
    toPostgres.open();
    const ms = await carried('during');
    expect(ms).toBeLessThan(8_000 * PATIENCE);
    await until('ready', ready);
  }),
);

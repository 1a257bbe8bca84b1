import { PATIENCE } from '../../support/patience.mjs';
import type { RunningApp } from '../../support/processes.js';
import { freshPostgres, type TestServer } from '../../support/services.js';
import { until } from '../../support/until.js';
import { BY, merchant } from '../../support/factories/merchants.js';
import { House, metric, failedJobs } from './house.js';

const readiness = async (app: RunningApp) =>
  (await (await fetch(`${app.managementUrl}/readyz`)).json()) as { ready: boolean; checks: { name: string; ok: boolean }[] };

const failing = async (app: RunningApp) => (await readiness(app)).checks.filter(({ ok }) => !ok).map(({ name }) => name);

describe('the preloader', () => {
  let postgres: TestServer;
  let house: House;
  let app: RunningApp;

  beforeAll(async () => {
    postgres = await freshPostgres();
    house = await House.open({ url: postgres.url, drop: () => postgres.stop() });
    app = await house.preloader();
    await app.waitForLog(({ msg }) => msg === 'full preload done', 30_000);
  });
  afterAll(() => house.close());

  const carried = (id: string, withinMs: number) => until(`snapshot of ${id}`, () => house.snapshots.read(id), withinMs);

  test('keeps changes in the outbox while Redis is gone, and relays them when it is back without its data', async () => {
    await house.merchants.create(merchant('before'), BY);
    await carried('before', 15_000);
    await house.redisServer.kill();
    await house.merchants.create(merchant('during'), BY);
    await until('unready', async () => (await failing(app)).includes('redis') && (await failing(app)).includes('queue'));
    await app.waitForLog(({ msg }) => String(msg).startsWith('rule changes cannot be relayed'), 15_000);
    expect(await house.outboxRows()).toBe(1);

    await house.redisServer.restart();
    await carried('during', 15_000);
    await until('ready', async () => (await readiness(app)).ready);
    // What Redis has forgotten comes back with a full preload that nobody asked for.
    await carried('before', 15_000);
    await until('the outbox is empty', async () => (await house.outboxRows()) === 0);
  });

  test('waits while Redis is frozen, and goes on afterwards', async () => {
    house.redisServer.freeze();
    await house.merchants.create(merchant('frozen'), BY);
    await until('unready', async () => (await failing(app)).includes('redis'));
    house.redisServer.thaw();
    await carried('frozen', 15_000);
    await until('ready', async () => (await readiness(app)).ready);
  });

  test('postpones jobs while PostgreSQL is gone, without using up their attempts', async () => {
    const preload = await house.preloads.request();
    await until('an idle queue', async () => (await house.preloads.look(preload.jobId))?.state === 'completed');
    await postgres.kill();
    const { jobId } = await house.preloads.request();
    await until('unready', async () => (await failing(app)).includes('postgres'));
    await until('postponed', async () => (await house.preloads.look(jobId))?.state === 'delayed');
    await postgres.restart();
    await until('the full preload', async () => (await house.preloads.look(jobId))?.state === 'completed', 15_000);
    await until('ready', async () => (await readiness(app)).ready);

    await house.merchants.create(merchant('after'), BY);
    await carried('after', 15_000);
    expect((await failedJobs(app)).total).toBe(0);
    expect(await metric(app, 'tollgate_jobs_failed')).toBe(0);
  });

  test('starts before PostgreSQL and Redis, and is ready once they are', async () => {
    await Promise.all([postgres.kill(), house.redisServer.kill()]);
    const early = await house.preloader({}, { untilReady: false });
    expect(await failing(early)).toEqual(['postgres', 'redis', 'queue']);
    await Promise.all([postgres.restart(), house.redisServer.restart()]);
    await until('ready', async () => (await readiness(early)).ready, 15_000);
    await carried('after', 15_000);
    expect(await early.stop()).toBe(0);
  });

  test('stops on a signal, also while Redis is gone', async () => {
    await house.redisServer.kill();
    const startedMs = Date.now();
    expect(await app.stop()).toBe(0);
    expect(Date.now() - startedMs).toBeLessThan(10_000 * PATIENCE);
    await house.redisServer.restart();
  });
});

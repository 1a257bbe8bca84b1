import { Forwarder } from '../../support/forwarder.mjs';
import { PATIENCE } from '../../support/patience.mjs';
import type { RunningApp } from '../../support/processes.js';
import { until } from '../../support/until.js';
import { BY, merchant } from '../../support/factories/merchants.js';
import { House, metric } from './house.js';

/**
 * The ways to Redis and PostgreSQL go black: they accept and acknowledge, and nobody answers. No connection is told, so each has
 * to find out by itself, and while the way is black the new ones find nobody either.
 */

/** Longer than it takes to notice: the heartbeat of a connection, and the longest statement of the preloader. */
const NOTICED_WITHIN_MS = 20_000;

let house: House;
let app: RunningApp;
let toRedis: Forwarder;
let toPostgres: Forwarder;

beforeEach(async () => {
  house = await House.open();
  const databaseUrl = new URL(house.databaseUrl);
  toRedis = await Forwarder.to(house.redisServer.port);
  toPostgres = await Forwarder.to(Number(databaseUrl.port));
  databaseUrl.host = `127.0.0.1:${toPostgres.port}`;
  app = await house.preloader({ REDIS_URL: toRedis.url, DATABASE_URL: databaseUrl.href });
  await app.waitForLog(({ msg }) => msg === 'full preload done', 30_000);
  await house.merchants.create(merchant('before'), BY);
  await carried('before');
});

afterEach(async () => {
  toRedis.close();
  toPostgres.close();
  await house.close();
});

const carried = async (id: string, withinMs = 15_000): Promise<number> => {
  const startMs = performance.now();
  await until(`the snapshot of ${id}`, () => house.snapshots.read(id), withinMs);
  return performance.now() - startMs;
};

const ready = async (): Promise<boolean> => (await fetch(`${app.managementUrl}/readyz`)).status === 200;

test('after Redis was unreachable, an edit made meanwhile reaches it, and a full preload runs on command', async () => {
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
});

test('connections to Redis that stop answering are replaced while new ones work', async () => {
  toRedis.swallow();
  const before = toRedis.accepted;
  await house.merchants.create(merchant('during'), BY);
  await carried('during', NOTICED_WITHIN_MS);
  await until('all connections are replaced', () => toRedis.accepted >= before + 5, NOTICED_WITHIN_MS);
  await until('ready', ready);
});

test('after PostgreSQL was unreachable, an edit made meanwhile reaches Redis', async () => {
  toPostgres.blackHole();
  const before = toPostgres.accepted;
  await house.merchants.create(merchant('during'), BY);
  await until('new connections are tried', () => toPostgres.accepted >= before + 2, NOTICED_WITHIN_MS);
  toPostgres.open();
  const ms = await carried('during');
  expect(ms).toBeLessThan(8_000 * PATIENCE);
  await until('ready', ready);
});

import { RELOAD_JOB, RELOAD_QUEUE, PRELOAD_JOB, PRELOAD_QUEUE, QUEUE_PREFIX } from '#rule-sync';
import { Queue } from 'bullmq';
import type { RunningApp } from '../../support/processes.js';
import { until } from '../../support/until.js';
import { BY, merchant } from '../../support/factories/merchants.js';
import { House, metric, failedJobs } from './house.js';

/** Jobs, checkpoints and rows that another program has written: they fail with a reason, and the others go on. */

let house: House;
let app: RunningApp;
let reloads: Queue;
let preloads: Queue;

beforeAll(async () => {
  house = await House.open();
  await house.manyMerchants(20);
  app = await house.preloader();
  await app.waitForLog(({ msg }) => msg === 'full preload done', 30_000);
  [reloads, preloads] = [RELOAD_QUEUE, PRELOAD_QUEUE].map(
    (name) => new Queue(name, { connection: { url: house.redisServer.url }, prefix: QUEUE_PREFIX }),
  ) as [Queue, Queue];
});

afterAll(async () => {
  await Promise.all([reloads.close(), preloads.close()]);
  await house.close();
});

const carried = async (id: string) => {
  await house.merchants.create(merchant(id), BY);
  await until(`the snapshot of ${id}`, () => house.snapshots.read(id));
};

test('invalid jobs and jobs of a later format fail at once with a plain reason, and the next edit is reloaded', async () => {
  const before = await metric(app, 'tollgate_preloader_unreadable_total', { what: 'job' });
  const odd: [unknown, RegExp][] = [
    [{ format: 3, merchant: 'acme' }, /format 3.*a newer one has written it/],
    [{ merchantId: { id: 'acme' } }, /merchantId must be/],
    [null, /carry an object, got null/],
    [['acme'], /carry an object, got a list/],
    [{ merchantId: 'x'.repeat(300_000) }, /merchantId must be/],
  ];
  await reloads.addBulk(odd.map(([data]) => ({ name: RELOAD_JOB, data, opts: { attempts: 5 } })));
  await carried('after-odd-jobs');
  await until('all of them have failed', async () => (await failedJobs(app)).total === odd.length);
  const { items } = await failedJobs(app);
  for (const [, why] of odd) expect(items.some(({ error, attempts }) => why.test(error) && attempts === 1)).toBe(true);
  expect(items.every(({ merchant: id }) => id === null)).toBe(true);
  expect(await metric(app, 'tollgate_preloader_unreadable_total', { what: 'job' })).toBe(before + odd.length);
  expect(app.logs.filter(({ msg }) => msg === 'a job cannot be parsed and has failed')).toHaveLength(odd.length);
});

test('a full preload without a known requester fails, and one with an invalid checkpoint begins anew', async () => {
  const broken = await preloads.add(PRELOAD_JOB, { requestedBy: 'nobody' }, { attempts: 5 });
  const again = await preloads.add(
    PRELOAD_JOB,
    { requestedBy: 'command', walk: { jobId: 'own', cursor: 7, done: 'all' } },
    { jobId: 'own' },
  );
  await until('the second is done', async () => (await again.getState()) === 'completed', 20_000);
  expect(await broken.getState()).toBe('failed');
  const job = await preloads.getJob('own');
  expect(job?.returnvalue).toMatchObject({ resumes: 0, skipped: 0 });
});

test('a job whose data is not JSON does not block other jobs', async () => {
  const job = await reloads.add(RELOAD_JOB, { merchantId: 'acme', version: 1, changedAtMs: null }, { delay: 500 });
  await house.redis.hset(`${QUEUE_PREFIX}:${RELOAD_QUEUE}:${job.id}`, 'data', '{"merchantId":');
  await until('a worker has taken it', async () => (await reloads.getDelayedCount()) === 0);
  await carried('after-no-json');
  expect((await fetch(`${app.managementUrl}/readyz`)).status).toBe(200);
  expect((await fetch(`${app.managementUrl}/jobs/failed`)).status).toBe(200);
});

test('rows of the outbox without a merchant or with an invalid time do not block the rows behind them', async () => {
  await house.dataSource.query(
    `INSERT INTO outbox (merchant_id, version, created_at) VALUES (' odd ', 1, now()), ('m-00001', -7, 'infinity')`,
  );
  await carried('after-odd-rows');
  await until('the outbox is empty', async () => (await house.outboxRows()) === 0);
  expect(await metric(app, 'tollgate_preloader_unreadable_total', { what: 'outbox' })).toBe(1);
});

import { QUEUE_PREFIX, RELOAD_QUEUE } from '#rule-sync';
import { Queue } from 'bullmq';
import type { RunningApp } from '../../support/processes.js';
import { ruleSpec } from '../../support/factories/rules.js';
import { until } from '../../support/until.js';
import { BY, merchant } from '../../support/factories/merchants.js';
import { House, metric, failedJobs } from './house.js';

describe('a merchant whose rules cannot be parsed', () => {
  let house: House;
  let app: RunningApp;
  let reloads: Queue;

  beforeAll(async () => {
    house = await House.open();
    await house.manyMerchants(50);
    await house.dataSource.query(`UPDATE rule SET limits = '{"not": "a list"}' WHERE merchant_id = 'm-00020'`);
    app = await house.preloader();
    reloads = new Queue(RELOAD_QUEUE, { connection: { url: house.redisServer.url }, prefix: QUEUE_PREFIX });
  });
  afterAll(async () => {
    await reloads.close();
    await house.close();
  });

  /** The pauses between the attempts of a job, all over at once. */
  async function withoutPauses(): Promise<void> {
    // One may have been taken up in the meantime.
    for (const job of await reloads.getDelayed()) await job.promote().catch(() => {});
  }

  test('does not keep a full preload from writing all others', async () => {
    expect(await app.waitForLog(({ msg }) => msg === 'full preload done', 30_000)).toMatchObject({ merchants: 50, skipped: 1 });
    expect(await house.redis.keys('tg:s:*')).toHaveLength(49);
    expect(await house.snapshots.read('m-00020')).toBeNull();
  });

  test('is retried until its job has failed, while other changes pass', async () => {
    await app.waitForLog(({ msg }) => msg === 'an attempt of a job failed and the job is retried');
    await house.merchants.create(merchant('healthy'), BY);
    await until('the healthy merchant', () => house.snapshots.read('healthy'));

    await until('the job has failed', async () => {
      await withoutPauses();
      return app.logs.some(({ msg }) => msg === 'a job has failed in every attempt');
    });
    expect(await metric(app, 'tollgate_reload_jobs_total', { outcome: 'retried' })).toBe(4);
    expect(await metric(app, 'tollgate_reload_jobs_total', { outcome: 'failed' })).toBe(1);
    expect(await metric(app, 'tollgate_jobs_failed')).toBe(1);
    const { total, items } = await failedJobs(app);
    expect(total).toBe(1);
    expect(items).toMatchObject([{ merchant: 'm-00020', version: 1, attempts: 5, error: expect.stringContaining('limits') as string }]);
    expect(new Date(items[0]?.when ?? '').toISOString()).toBe(items[0]?.when);
  });

  test('is listed once however often its job fails, and no longer once its rules are put right', async () => {
    const before = (await failedJobs(app)).items[0]?.id;
    const { jobId } = await house.preloads.request();
    await until('another full preload', async () => (await house.preloads.look(jobId))?.state === 'completed');
    await until('a new failed job in the place of the first one', async () => {
      await withoutPauses();
      const { items } = await failedJobs(app);
      return items.length === 1 && items[0]?.id !== before;
    });

    const [{ id }] = (await house.dataSource.query(`SELECT id FROM rule WHERE merchant_id = 'm-00020'`)) as [{ id: string }];
    await house.rules.delete('m-00020', id, 'any', BY);
    await house.rules.create('m-00020', ruleSpec(), BY);
    await until('its snapshot', async () => (await house.snapshots.read('m-00020'))?.version === 3);
    await until('an empty list', async () => (await failedJobs(app)).total === 0);
    expect(await metric(app, 'tollgate_jobs_failed')).toBe(0);
  });
});

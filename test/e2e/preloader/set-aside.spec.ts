import { type RunningApp } from '../../support/processes.js';
import { ruleSpec } from '../../support/factories/rules.js';
import { until } from '../../support/until.js';
import { BY, merchant } from '../../support/factories/merchants.js';
import { House, metric, setAsideJobs } from './house.js';

describe('a merchant whose rules make no sense', () => {
  let house: House;
  let app: RunningApp;

  beforeAll(async () => {
    house = await House.open();
    await house.manyMerchants(50);
    await house.dataSource.query(`UPDATE rule SET limits = '{"not": "a list"}' WHERE merchant_id = 'm-00020'`);
    app = await house.preloader();
  });
  afterAll(() => house.close());

  test('does not keep a full preload from carrying all others', async () => {
    expect(await app.waitForLog(({ msg }) => msg === 'full preload done', 30_000)).toMatchObject({ merchants: 50, setAside: 1 });
    expect(await house.redis.keys('tg:s:*')).toHaveLength(49);
    expect(await house.snapshots.read('m-00020')).toBeNull();
  });

  test('is retried, then set aside, while other changes pass', async () => {
    await app.waitForLog(({ msg }) => msg === 'a job failed and is tried again');
    await house.merchants.create(merchant('healthy'), BY);
    await until('the healthy merchant', () => house.snapshots.read('healthy'));

    await app.waitForLog(({ msg }) => msg === 'a job failed too often and is set aside', 20_000);
    expect(await metric(app, 'reload_jobs_total', { outcome: 'retried' })).toBe(4);
    expect(await metric(app, 'reload_jobs_total', { outcome: 'set_aside' })).toBe(1);
    expect(await metric(app, 'jobs_set_aside')).toBe(1);
    const { total, items } = await setAsideJobs(app);
    expect(total).toBe(1);
    expect(items).toMatchObject([{ merchant: 'm-00020', version: 1, attempts: 5, error: expect.stringContaining('limits') as string }]);
    expect(new Date(items[0]?.when ?? '').toISOString()).toBe(items[0]?.when);
  });

  test('is listed once however often it fails, and no more once it is put right', async () => {
    const before = (await setAsideJobs(app)).items[0]?.id;
    const { jobId } = await house.preloads.request();
    await until('another full preload', async () => (await house.preloads.look(jobId))?.state === 'completed');
    await until(
      'set aside again, in the place of the first time',
      async () => {
        const { items } = await setAsideJobs(app);
        return items.length === 1 && items[0]?.id !== before;
      },
      20_000,
    );

    const [{ id }] = (await house.dataSource.query(`SELECT id FROM rule WHERE merchant_id = 'm-00020'`)) as [{ id: string }];
    await house.rules.delete('m-00020', id, 'any', BY);
    await house.rules.create('m-00020', ruleSpec(), BY);
    await until('its snapshot', async () => (await house.snapshots.read('m-00020'))?.version === 3);
    await until('an empty list', async () => (await setAsideJobs(app)).total === 0);
    expect(await metric(app, 'jobs_set_aside')).toBe(0);
  });
});

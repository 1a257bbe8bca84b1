import { Queue } from 'bullmq';
import { PRELOAD_QUEUE, QUEUE_PREFIX } from '#rule-sync';
import { until } from '../../support/until.js';
import { BY, merchant } from '../../support/factories/merchants.js';
import { House, metric } from './house.js';

describe('preloaders that share a queue', () => {
  let house: House;
  let queue: Queue;

  beforeAll(async () => {
    house = await House.open();
    await house.manyMerchants(200);
    queue = new Queue(PRELOAD_QUEUE, { connection: house.redis, prefix: QUEUE_PREFIX });
  });
  afterAll(async () => {
    await queue.close();
    await house.close();
  });

  test('that start at once share one full preload and one schedule', async () => {
    const apps = await Promise.all([house.preloader(), house.preloader()]);
    await until('a full preload', async () => (await queue.getCompletedCount()) >= 1);
    await until('an idle queue', async () => (await queue.getJobCountByTypes('active', 'waiting')) === 0);
    expect(await queue.getCompletedCount()).toBe(1);
    expect(await queue.getJobSchedulersCount()).toBe(1);
    expect(await queue.getDelayedCount()).toBe(1);
    expect(await queue.getGlobalConcurrency()).toBe(1);
    const carried = await Promise.all(apps.map((app) => metric(app, 'tollgate_preload_merchants_total')));
    expect(carried.sort((a, b) => b - a)).toEqual([200, 0]);
  });

  test('reload each change once', async () => {
    for (let i = 0; i < 20; i++) await house.merchants.create(merchant(`new-${i}`), BY);
    await until('all of them', async () => (await house.redis.keys('tg:s:{new-*')).length === 20, 20_000);
    // A row goes once its job is known to be stored, and a snapshot may be there by then.
    await until('the outbox is empty', async () => (await house.outboxRows()) === 0);
  });
});

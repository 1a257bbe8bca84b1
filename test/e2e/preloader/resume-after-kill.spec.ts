import { until } from '../../support/until.js';
import { House, metric } from './house.js';

const MERCHANTS = 3_000;

describe('a full preload whose process ends', () => {
  let house: House;

  beforeAll(async () => {
    house = await House.open();
    await house.manyMerchants(MERCHANTS);
  });
  afterAll(() => house.close());

  test('by SIGKILL is resumed from its cursor by the next process, and completed', async () => {
    const first = await house.preloader({ PRELOAD_CHUNK_MERCHANTS: '10' });
    const jobId = String((await first.waitForLog(({ msg }) => msg === 'full preload started')).jobId);
    await until('a fifth of the walk', async () => ((await house.preloads.look(jobId))?.walk?.done ?? 0) >= MERCHANTS / 5);
    await first.kill();
    const left = (await house.preloads.look(jobId))?.walk;
    expect(left?.done).toBeGreaterThanOrEqual(MERCHANTS / 5);
    expect(left?.done).toBeLessThan(MERCHANTS);

    const second = await house.preloader({ PRELOAD_CHUNK_MERCHANTS: '10' });
    const resumed = await second.waitForLog(({ msg }) => msg === 'full preload resumed', 20_000);
    expect(resumed).toMatchObject({ jobId, done: left?.done });
    const done = await second.waitForLog(({ msg }) => msg === 'full preload done', 30_000);
    expect(done).toMatchObject({ jobId, merchants: MERCHANTS, skipped: 0 });

    expect(await metric(second, 'tollgate_preload_merchants_total')).toBe(MERCHANTS - (left?.done ?? 0));
    expect(await metric(second, 'tollgate_preload_progress_ratio')).toBe(1);
    expect(await house.redis.keys('tg:s:*')).toHaveLength(MERCHANTS);
    expect(await house.redis.keys('tg:{*')).toHaveLength(MERCHANTS);
    const lifeMs = await house.redis.pttl((await house.redis.keys('tg:s:*'))[0] as string);
    expect(lifeMs).toBeGreaterThan(3_500_000);
    expect(await second.stop()).toBe(0);
  });

  test('by SIGTERM is given back to the queue at once, and resumed from its cursor', async () => {
    await house.redis.flushall();
    const first = await house.preloader({ PRELOAD_CHUNK_MERCHANTS: '10', JOB_LOCK_MS: '60000' });
    const jobId = String((await first.waitForLog(({ msg }) => msg === 'full preload started')).jobId);
    await until('a tenth of the walk', async () => ((await house.preloads.look(jobId))?.walk?.done ?? 0) >= MERCHANTS / 10);
    expect(await first.stop()).toBe(0);
    expect((await house.preloads.look(jobId))?.state).toBe('waiting');

    const second = await house.preloader();
    expect(await second.waitForLog(({ msg }) => msg === 'full preload done', 30_000)).toMatchObject({
      jobId,
      merchants: MERCHANTS,
      resumes: 1,
    });
    expect(await house.redis.keys('tg:s:*')).toHaveLength(MERCHANTS);
  });
});

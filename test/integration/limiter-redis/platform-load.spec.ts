import { leaveGateways, PLATFORM_LOAD_KEY, reportLoad } from '#limiter-redis';
import { redisForFile } from '../../support/redis-for-file.js';

const { redis } = await redisForFile();

test('adds up what gateways report, each by its last report', async () => {
  expect(await reportLoad(redis, 'a', 10.5)).toEqual({ perSecond: 11, gateways: 1 });
  expect(await reportLoad(redis, 'b', 5)).toEqual({ perSecond: 16, gateways: 2 });
  expect(await reportLoad(redis, 'a', 0)).toEqual({ perSecond: 5, gateways: 2 });
});

test('a gateway that has been silent counts no more, and is forgotten', async () => {
  await redis.del(PLATFORM_LOAD_KEY);
  await redis.hset(PLATFORM_LOAD_KEY, 'gone', `${Date.now() - 60_000}:1000`);
  expect(await reportLoad(redis, 'a', 1)).toEqual({ perSecond: 1, gateways: 1 });
  expect(await redis.hkeys(PLATFORM_LOAD_KEY)).toEqual(['a#3']);
  expect(await redis.pttl(PLATFORM_LOAD_KEY)).toBeGreaterThan(0);
});

test('a report from the future, after the clock of Redis stepped back, counts as one of now', async () => {
  await redis.del(PLATFORM_LOAD_KEY);
  await redis.hset(PLATFORM_LOAD_KEY, 'ahead', `${Date.now() + 3_600_000}:1000`);
  expect(await reportLoad(redis, 'a', 1)).toEqual({ perSecond: 1001, gateways: 2 });
  const [at] = (await redis.hget(PLATFORM_LOAD_KEY, 'ahead'))!.split(':');
  expect(Number(at)).toBeLessThan(Date.now() + 60_000);
});

test('a gateway that leaves counts no more at once', async () => {
  await redis.del(PLATFORM_LOAD_KEY);
  await reportLoad(redis, 'leaves', 1);
  await reportLoad(redis, 'a', 1);
  await leaveGateways(redis, 'leaves');
  expect(await reportLoad(redis, 'a', 1)).toEqual({ perSecond: 1, gateways: 1 });
});

test('what is no report of ours is dropped, and does not stop the reports', async () => {
  await redis.del(PLATFORM_LOAD_KEY);
  const strange = {
    a: '',
    b: 'x:1',
    c: `${Date.now()}`,
    d: `${Date.now()}:nan`,
    e: `${Date.now()}:-5`,
    f: `${Date.now()}:1e99`,
    g: `${Date.now()}:${'9'.repeat(400)}`,
  };
  await redis.hset(PLATFORM_LOAD_KEY, strange);
  expect(await reportLoad(redis, 'mine', 2)).toEqual({ perSecond: 2, gateways: 1 });
  expect(await redis.hkeys(PLATFORM_LOAD_KEY)).toEqual(['mine#3']);
});

test('a number of gateways that cannot be is an error, not a count', async () => {
  await redis.del(PLATFORM_LOAD_KEY);
  const many = Array.from({ length: 1001 }, (_, i) => [`forged-${i}`, `${Date.now()}:0`]).flat();
  await redis.hset(PLATFORM_LOAD_KEY, many);
  await expect(reportLoad(redis, 'a', 1)).rejects.toThrow('a number of gateways from 1 to 1000');
});

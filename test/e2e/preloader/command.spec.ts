import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../../scripts/ports.mjs';
import { freshRedis, type TestRedis } from '../../support/services.js';
import { House } from './house.js';

const SCRIPT = fileURLToPath(new URL('../../../scripts/tollgate.mjs', import.meta.url));

/** `npm run preload`, as a pipe sees it. */
function preload(redisUrl: string, ...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [SCRIPT, 'preload', ...args],
      { env: { PATH: process.env['PATH'], REDIS_URL: redisUrl } },
      (error, stdout, stderr) => resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}

/** They wait for what is not there most of the time, and run at once. */
describe('npm run preload', () => {
  let house: House;
  let withoutPreloader: TestRedis;

  beforeAll(async () => {
    [house, withoutPreloader] = await Promise.all([House.open(), freshRedis()]);
    await house.manyMerchants(120);
    const app = await house.preloader();
    await app.waitForLog(({ msg }) => msg === 'full preload done', 30_000);
  });
  afterAll(() => Promise.all([house.close(), withoutPreloader.stop()]));

  test.concurrent('preloads all merchants and prints its progress in plain lines', async () => {
    const one = (await house.redis.keys('tg:s:*'))[0] as string;
    await house.redis.del(one);
    const { code, stdout, stderr } = await preload(house.redisServer.url);
    expect(stderr).toBe('');
    expect(stdout).toContain('100 %  120 of 120 merchants\n');
    expect(stdout).toContain('Done: 120 merchants preloaded.\n');
    expect(stdout).not.toContain('\x1b');
    expect(code).toBe(0);
    expect(await house.redis.exists(one)).toBe(1);
  });

  test.concurrent('says that Redis does not answer', async () => {
    const { code, stderr } = await preload(`redis://:secret@127.0.0.1:${await freePort()}`);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^No Redis answers at 127\.0\.0\.1:\d+\./);
    expect(stderr).not.toContain('secret');
  });

  test.concurrent('says that no preloader is running', async () => {
    const { code, stderr } = await preload(withoutPreloader.url);
    expect(code).toBe(1);
    expect(stderr).toContain('No preloader is running');
  });

  test.concurrent('says that the address of Redis is invalid', async () => {
    const { code, stderr } = await preload('somewhere');
    expect(code).toBe(1);
    expect(stderr).toContain('REDIS_URL is not usable');
  });

  test.concurrent('prints its help, and refuses unknown options', async () => {
    expect(await preload(house.redisServer.url, '--help')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('QUEUE_REDIS_URL') as string,
    });
    expect(await preload(house.redisServer.url, '--fast')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("Unknown option '--fast'") as string,
    });
  });
});

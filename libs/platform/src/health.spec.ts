import { CHECK_TIMEOUT_MS, Health } from './health.js';

describe('Health', () => {
  it('is ready without checks', async () => {
    expect(await new Health().readiness()).toEqual({ ready: true, stopping: false, checks: [] });
  });

  it('is unready if a required check fails, and says which one and why', async () => {
    const health = new Health();
    health.addCheck('redis', () => undefined);
    health.addCheck('postgres', () => Promise.reject(new Error('connect ECONNREFUSED')));
    expect(await health.readiness()).toEqual({
      ready: false,
      stopping: false,
      checks: [
        { name: 'redis', ok: true },
        { name: 'postgres', ok: false, detail: 'connect ECONNREFUSED' },
      ],
    });
  });

  it('is ready if a check fails that is not required, and says why it fails', async () => {
    const health = new Health();
    health.addCheck('rules', () => undefined);
    health.addCheck('store', () => Promise.reject(new Error('OOM')), { required: false });
    expect(await health.readiness()).toEqual({
      ready: true,
      stopping: false,
      checks: [
        { name: 'rules', ok: true },
        { name: 'store', required: false, ok: false, detail: 'OOM' },
      ],
    });
  });

  it('counts a check that takes too long as failed', async () => {
    const health = new Health();
    health.addCheck('hangs', () => new Promise(() => undefined));
    health.addCheck('hangs too', () => new Promise(() => undefined));
    const detail = `no answer within ${CHECK_TIMEOUT_MS} ms`;
    expect(await health.readiness()).toMatchObject({
      ready: false,
      checks: [
        { ok: false, detail },
        { ok: false, detail },
      ],
    });
  });

  it('is unready once it is stopping, whatever the checks say', async () => {
    const health = new Health();
    health.addCheck('redis', () => undefined);
    health.stopping();
    expect(await health.readiness()).toMatchObject({ ready: false, stopping: true, checks: [{ ok: true }] });
  });

  it('shows the reason of errors without a message, and hides credentials', async () => {
    const health = new Health();
    health.addCheck('a', () => Promise.reject(new AggregateError([new Error('ECONNREFUSED ::1:5432')])));
    health.addCheck('b', () => {
      throw new Error('no redis://u:hunter2@r');
    });
    const { checks } = await health.readiness();
    expect(checks.map(({ detail }) => detail)).toEqual(['ECONNREFUSED ::1:5432', 'no redis://[redacted]@r']);
  });

  it('refuses a second check of the same name', () => {
    const health = new Health();
    health.addCheck('redis', () => undefined);
    expect(() => health.addCheck('redis', () => undefined)).toThrow(/redis/);
  });
});

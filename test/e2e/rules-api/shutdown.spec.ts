import { startApp } from '../../support/processes.js';
import { freshDatabase, type TestDatabase } from '../../support/services.js';
import { ask } from './api.js';

describe('the process of the Rules API', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await freshDatabase();
  });
  afterAll(() => database.drop());

  it.each(['SIGTERM', 'SIGINT'] as const)('exits with 0 on %s, also with a connection kept open', async (signal) => {
    const app = await startApp('rules-api', { DATABASE_URL: database.url });
    expect((await ask(app.url, 'GET', '/v1/merchants')).status).toBe(200);
    app.signal(signal);
    expect(await app.exited).toBe(0);
    expect(app.logs.map(({ msg }) => msg)).toEqual(expect.arrayContaining(['stopping', 'stopped']));
  });

  it('answers requests in flight before it ends', async () => {
    const app = await startApp('rules-api', { DATABASE_URL: database.url });
    const inFlight = Array.from({ length: 8 }, (_, i) => ask(app.url, 'POST', '/v1/merchants', { id: `flight-${i}`, name: 'x' }));
    await app.waitForLog(({ msg }) => msg === 'request');
    app.signal('SIGTERM');
    const answers = await Promise.allSettled(inFlight);
    expect(await app.exited).toBe(0);
    // What had not arrived when the server closed was refused a connection; what had was answered as ever.
    const statuses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value.status] : []));
    expect(new Set(statuses)).toEqual(new Set([201]));
  });

  it('names every bad variable and exits', async () => {
    const starting = startApp('rules-api', { DATABASE_URL: 'nonsense', TOLLGATE_ADMIN_TOKEN: 'short', LOG_LEVEL: 'loud' });
    await expect(starting).rejects.toThrow(/DATABASE_URL[^]*TOLLGATE_ADMIN_TOKEN[^]*LOG_LEVEL/);
  });

  it('runs in several replicas on one new database', async () => {
    const empty = await freshDatabase();
    const replicas = await Promise.all([1, 2].map(() => startApp('rules-api', { DATABASE_URL: empty.url })));
    const [one, other] = replicas as [(typeof replicas)[0], (typeof replicas)[0]];
    expect((await ask(one.url, 'POST', '/v1/merchants', { id: 'shared', name: 'x' })).status).toBe(201);
    expect((await ask(other.url, 'GET', '/v1/merchants/shared')).status).toBe(200);
    await Promise.all(replicas.map((app) => app.stop()));
    await empty.drop();
  });
});

import { PATIENCE } from '../../support/patience.mjs';
import { freshPostgres, type TestServer } from '../../support/services.js';
import { type RunningApp, startApp } from '../../support/processes.js';
import { ruleBody } from '../../support/factories/rules.js';
import { until } from '../../support/until.js';
import { ask } from './api.js';

describe('without PostgreSQL', () => {
  let postgres: TestServer;
  let app: RunningApp;

  beforeAll(async () => {
    postgres = await freshPostgres();
    app = await startApp('rules-api', { DATABASE_URL: postgres.url });
  });
  afterAll(async () => {
    await app.stop();
    await postgres.stop();
  });

  const ready = async () => (await ask(app.url, 'GET', '/readyz')).status === 200;

  it('answers 503 soon, says what is missing, and works again by itself', async () => {
    await ask(app.url, 'POST', '/v1/merchants', { id: 'acme', name: 'Acme' });
    await postgres.kill();

    for (const [method, path, body] of [
      ['GET', '/v1/merchants', undefined],
      ['POST', '/v1/merchants', { id: 'b', name: 'b' }],
      ['PATCH', '/v1/merchants/acme', { name: 'b' }],
      ['POST', '/v1/default-rules', ruleBody()],
    ] as const) {
      const before = performance.now();
      const answer = await ask(app.url, method, path, body, { 'if-match': '*' });
      expect([answer.status, answer.headers.get('content-type'), answer.headers.get('retry-after')]).toEqual([
        503,
        'application/problem+json',
        '1',
      ]);
      expect(performance.now() - before).toBeLessThan(5_000 * PATIENCE);
    }
    const { status, body } = await ask(app.url, 'GET', '/readyz');
    expect([status, body]).toEqual([
      503,
      { ready: false, stopping: false, checks: [{ name: 'postgres', ok: false, detail: expect.any(String) as string }] },
    ]);
    expect((await ask(app.url, 'GET', '/healthz')).status).toBe(200);

    await postgres.restart();
    await until(ready, 15_000);
    expect((await ask(app.url, 'GET', '/v1/merchants/acme')).body).toMatchObject({ name: 'Acme', version: 1 });
    expect((await ask(app.url, 'POST', '/v1/default-rules', ruleBody())).status).toBe(201);
  });

  it('starts, waits for it, and migrates when it comes', async () => {
    await app.stop();
    await postgres.kill();
    app = await startApp('rules-api', { DATABASE_URL: postgres.url }, { untilReady: false });
    const answer = await ask(app.url, 'GET', '/v1/merchants');
    expect([answer.status, answer.headers.get('content-type')]).toEqual([503, 'application/problem+json']);
    await postgres.restart();
    await until(ready, 15_000);
    expect((await ask(app.url, 'GET', '/v1/merchants/acme')).status).toBe(200);
  });

  it('stops at once while it waits for PostgreSQL', async () => {
    await app.stop();
    await postgres.kill();
    app = await startApp('rules-api', { DATABASE_URL: postgres.url }, { untilReady: false });
    expect(await app.stop()).toBe(0);
  });
});

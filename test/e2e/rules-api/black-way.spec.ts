import { Forwarder } from '../../support/forwarder.mjs';
import { PATIENCE } from '../../support/patience.mjs';
import { startApp } from '../../support/processes.js';
import { freshDatabase } from '../../support/services.js';
import { until } from '../../support/until.js';
import { ask } from './api.js';

test('while PostgreSQL is unreachable every request is answered with 503 in time, and soon afterwards with 200', async () => {
  const database = await freshDatabase();
  const url = new URL(database.url);
  const forwarder = await Forwarder.to(Number(url.port));
  url.host = `127.0.0.1:${forwarder.port}`;
  const app = await startApp('rules-api', { DATABASE_URL: url.href });
  try {
    expect((await ask(app.url, 'GET', '/v1/merchants')).status).toBe(200);
    forwarder.blackHole();
    // More than there are connections, so that some wait for one.
    const startMs = performance.now();
    const answers = await Promise.all(Array.from({ length: 25 }, () => ask(app.url, 'GET', '/v1/merchants')));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]));
    expect(performance.now() - startMs).toBeLessThan(4_000 + 2_000 * PATIENCE);

    forwarder.open();
    const backMs = performance.now();
    await until('an answer', async () => (await ask(app.url, 'GET', '/v1/merchants')).status === 200, 15_000);
    expect(performance.now() - backMs).toBeLessThan(5_000 + 1_000 * PATIENCE);
    // No dead connection is left in the pool.
    const after = await Promise.all(Array.from({ length: 25 }, () => ask(app.url, 'GET', '/v1/merchants')));
    expect(new Set(after.map(({ status }) => status))).toEqual(new Set([200]));
  } finally {
    await app.stop();
    forwarder.close();
    await database.drop();
  }
});

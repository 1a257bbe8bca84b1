import { burst } from '#limiter/testing';
import { connectWhenUp, createDataSource, migrate, MerchantRepository, RuleRepository } from '#rules-db';
import type { DataSource } from 'typeorm';
import type { RunningApp } from '../../support/processes.js';
import { freshPostgres, type TestServer } from '../../support/services.js';
import { until } from '../../support/until.js';
import { BY, merchant } from '../../support/factories/merchants.js';
import { ruleSpec } from '../../support/factories/rules.js';
import { House } from './house.js';

let house: House;
let postgres: TestServer;
let dataSource: DataSource;
let gateway: RunningApp;

beforeAll(async () => {
  [house, postgres] = await Promise.all([House.open(), freshPostgres()]);
  dataSource = createDataSource(postgres.url);
  await connectWhenUp(dataSource);
  await migrate(dataSource);
  gateway = await house.gateway({ DATABASE_URL: postgres.url, STORE_TIMEOUT_MS: '5000' });
});

afterAll(async () => {
  if (dataSource.isInitialized) await dataSource.destroy();
  await house.close();
  await postgres.stop();
});

async function create(id: string): Promise<void> {
  await new MerchantRepository(dataSource).create(merchant(id), BY);
  const limits = [burst({ capacity: 3, refillTokens: 1, refillIntervalMs: 600_000 })];
  await new RuleRepository(dataSource).create(id, ruleSpec({ match: { methods: [], paths: [] }, limits }), BY);
}

test('a merchant that is not in Redis is read from PostgreSQL once, however many ask, and put there for the others', async () => {
  await create('cold');
  const answers = await Promise.all(Array.from({ length: 20 }, () => house.send(gateway, 'cold')));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(3);
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(17);
  await until(async () =>
    expect(await house.snapshots.read('cold')).toMatchObject({ merchantId: 'cold', rules: [{ name: 'card payments' }] }),
  );
});

test('a flood of merchants that do not exist is refused, and sinks nobody', async () => {
  await create('warm');
  await house.send(gateway, 'warm');
  const flood = Promise.all(Array.from({ length: 300 }, (_, i) => house.send(gateway, `nobody-${i}`)));
  expect([200, 429]).toContain((await house.send(gateway, 'warm')).status);
  // 403, or 503 where PostgreSQL could not say so in time; nothing passes.
  for (const { status } of await flood) expect([403, 503]).toContain(status);
});

test('PostgreSQL stopped: known merchants do not notice, others get 503 until it is back', async () => {
  await create('known');
  await create('unseen');
  expect((await house.send(gateway, 'known')).status).toBe(200);
  await dataSource.destroy();
  await postgres.kill();
  expect((await house.send(gateway, 'known')).status).toBe(200);
  const refused = await house.send(gateway, 'unseen');
  expect(refused.status).toBe(503);
  expect(JSON.parse(refused.body).detail).toContain('rules of this merchant');
  await postgres.restart();
  await until(async () => expect((await house.send(gateway, 'unseen')).status).toBe(200), 15_000);
  // Also from here on, for all that was read before.
  expect((await house.send(gateway, 'known')).status).toBe(200);
});

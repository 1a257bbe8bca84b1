import { createDataSource } from '#rules-db';
import { type RunningApp, startApp } from '../../support/processes.js';
import { freshDatabase, type TestDatabase } from '../../support/services.js';
import { ruleBody } from '../../support/factories/rules.js';
import { ask } from './api.js';

/** A rule whose row makes no sense, as somebody with psql may have left it. */

let database: TestDatabase;
let app: RunningApp;
let dataSource: ReturnType<typeof createDataSource>;
const RULES = '/v1/merchants/acme/rules';
const idOf: Record<string, string> = {};

beforeAll(async () => {
  database = await freshDatabase();
  app = await startApp('rules-api', { DATABASE_URL: database.url });
  dataSource = createDataSource(database.url);
  await dataSource.initialize();
  await ask(app.url, 'POST', '/v1/merchants', { id: 'acme', name: 'Acme' });
  for (const [name, priority] of [
    ['first', 30],
    ['broken', 20],
    ['gone', 15],
    ['last', 10],
  ] as const) {
    idOf[name] = (await ask(app.url, 'POST', RULES, ruleBody({ name, priority }))).body.id;
  }
  await dataSource.query(`UPDATE rule SET limits = '{"not": "a list"}' WHERE name IN ('broken', 'gone')`);
});

afterAll(async () => {
  await dataSource.destroy();
  await app.stop();
  await database.drop();
});

it('does not keep the list from showing the others, and is named beside them', async () => {
  const { status, body } = await ask(app.url, 'GET', RULES);
  expect(status).toBe(200);
  expect(body.items.map(({ name }: { name: string }) => name)).toEqual(['first', 'last']);
  const detail = expect.stringContaining('rule.limits: must be a list') as string;
  expect(body.unreadable).toEqual([
    { id: idOf['broken'], name: 'broken', version: 1, detail },
    { id: idOf['gone'], name: 'gone', version: 1, detail },
  ]);
  const page = await ask(app.url, 'GET', `${RULES}?limit=2`);
  expect(page.body.nextCursor).toEqual(expect.any(String));
  expect((await ask(app.url, 'GET', `${RULES}?limit=2&cursor=${page.body.nextCursor}`)).body.items).toMatchObject([{ name: 'last' }]);
});

it('is answered with the reason when it is read, logged once, and counted each time', async () => {
  const { status, body } = await ask(app.url, 'GET', `${RULES}/${idOf['broken']}`);
  expect(status).toBe(500);
  expect(body.detail).toMatch(/cannot be read \(rule\.limits.*; replace or delete it/);
  expect(app.logs.filter(({ ruleId }) => ruleId === idOf['broken'])).toHaveLength(1);
  const metrics = await (await fetch(`${app.url}/metrics`)).text();
  expect(Number(/^tollgate_rules_api_unreadable_rules_total\S* (\d+)$/m.exec(metrics)?.[1])).toBeGreaterThan(2);
});

it('does not keep its merchant from moving to another time zone', async () => {
  expect((await ask(app.url, 'PATCH', '/v1/merchants/acme', { timeZone: 'Asia/Tokyo' }, { 'if-match': '*' })).status).toBe(200);
});

it('can be replaced, and deleted', async () => {
  const replaced = await ask(app.url, 'PUT', `${RULES}/${idOf['broken']}`, ruleBody({ name: 'mended' }), { 'if-match': '"1"' });
  expect([replaced.status, replaced.body.version]).toEqual([200, 2]);
  expect((await ask(app.url, 'DELETE', `${RULES}/${idOf['gone']}`, undefined, { 'if-match': '"1"' })).status).toBe(204);
  const { body } = await ask(app.url, 'GET', RULES);
  expect(body.items).toHaveLength(3);
  expect(body).not.toHaveProperty('unreadable');
});

import { ruleBody } from '../../support/factories/rules.js';
import { type Answer, type Api, ask, startRulesApi } from './api.js';

let api: Api;
let token: string;

beforeAll(async () => {
  api = await startRulesApi();
  const merchants = { berlin: { region: 'eu', tier: 'gold' }, paris: { region: 'eu' }, boston: { region: 'us', tier: 'gold' } };
  for (const [id, labels] of Object.entries(merchants)) await api.ask('POST', '/v1/merchants', { id, name: id, labels });
  const created = await api.ask('POST', '/v1/tokens', { name: 'of europe', role: 'editor', label: 'region=eu' });
  expect(created.body).toMatchObject({ merchants: null, label: 'region=eu' });
  token = (created.body as { token: string }).token;
});
afterAll(() => api.close());

const european = (method: string, path: string, body?: unknown): Promise<Answer> =>
  ask(api.app.url, method, path, body, { authorization: `Bearer ${token}`, 'if-match': '*' });
const idsOf = ({ body }: Answer): string[] => (body as { items: { id: string }[] }).items.map(({ id }) => id);

describe('a token that is limited to a label', () => {
  it('reads and writes merchants that have it, and no others', async () => {
    expect((await european('GET', '/v1/merchants/berlin')).status).toBe(200);
    expect((await european('POST', '/v1/merchants/paris/rules', ruleBody())).status).toBe(201);
    for (const path of ['/v1/merchants/boston', '/v1/merchants/boston/rules', '/v1/merchants/nobody'])
      expect((await european('GET', path)).body).toMatchObject({ status: 403, code: 'token.limited_to_others' });
    expect((await european('POST', '/v1/merchants/boston/rules', ruleBody())).status).toBe(403);
    expect((await european('GET', '/v1/default-rules')).status).toBe(200);
    for (const [method, path, body] of [
      ['POST', '/v1/merchants', { id: 'rome', name: 'Rome', labels: { region: 'eu' } }],
      ['POST', '/v1/default-rules', ruleBody()],
      ['PUT', '/v1/plans/pro', {}],
    ] as const)
      expect((await european(method, path, body)).body).toMatchObject({ status: 403, code: 'token.limited' });
  });

  it('lists them page by page, also by another label and by name', async () => {
    expect(idsOf(await european('GET', '/v1/merchants'))).toEqual(['berlin', 'paris']);
    const first = await european('GET', '/v1/merchants?limit=1');
    expect(idsOf(first)).toEqual(['berlin']);
    expect(idsOf(await european('GET', `/v1/merchants?limit=1&cursor=${first.body.nextCursor}`))).toEqual(['paris']);
    expect(idsOf(await european('GET', '/v1/merchants?label=tier%3Dgold'))).toEqual(['berlin']);
    expect(idsOf(await european('GET', '/v1/merchants?label=region%3Dus'))).toEqual([]);
    expect(idsOf(await european('GET', '/v1/merchants?name=bo'))).toEqual([]);
    expect(idsOf(await european('GET', '/v1/merchants?name=be&label=tier%3Dgold'))).toEqual(['berlin']);
  });

  it('sees nothing of others in what looks across merchants', async () => {
    const merchantsOf = ({ body }: Answer) =>
      new Set((body as { items: { merchantId: string }[] }).items.map(({ merchantId }) => merchantId));
    expect(merchantsOf(await european('GET', '/v1/audit?limit=200'))).toEqual(new Set(['berlin', 'paris']));
    expect((await european('GET', '/v1/audit?merchant=boston')).body).toMatchObject({ items: [] });
    const exported = (await european('GET', '/v1/export?format=json')).body as { merchants: { id: string }[] };
    expect(exported.merchants.map(({ id }) => id)).toEqual(['berlin', 'paris']);
    expect((await european('GET', '/v1/export?format=json&merchant=boston')).status).toBe(403);
    const preview = { merchantId: 'boston', rule: ruleBody() };
    expect((await european('POST', '/v1/rules/preview', preview)).body).toMatchObject({ status: 403, code: 'token.limited_to_others' });
    expect((await european('POST', '/v1/rules/preview', { ...preview, merchantId: 'berlin' })).status).toBe(200);
  });

  it('loses a merchant with the next request after somebody takes the label away', async () => {
    const relabel = (region: string) => api.ask('PATCH', '/v1/merchants/paris', { labels: { region } }, { 'if-match': '*' });
    await relabel('us');
    expect((await european('GET', '/v1/merchants/paris')).status).toBe(403);
    expect(idsOf(await european('GET', '/v1/merchants'))).toEqual(['berlin']);
    await relabel('eu');
    expect((await european('GET', '/v1/merchants/paris')).status).toBe(200);
  });

  it('names one merchant where more than 100 have the label', async () => {
    const merchants = Array.from({ length: 99 }, (_, i) => ({ id: `m${i}`, name: `M ${i}`, labels: { region: 'eu' }, rules: [] }));
    expect((await api.ask('POST', '/v1/apply', { version: 1, merchants })).status).toBe(200);
    expect((await european('GET', '/v1/audit')).body).toMatchObject({ status: 403, code: 'token.label_too_wide' });
    expect((await european('GET', '/v1/export')).body).toMatchObject({ code: 'token.label_too_wide' });
    expect((await european('GET', '/v1/audit?merchant=m7')).body.items).toMatchObject([{ action: 'merchant.created' }]);
    expect((await european('GET', '/v1/merchants/m98')).status).toBe(200);
    expect(idsOf(await european('GET', '/v1/merchants?limit=200'))).toHaveLength(101);
  });
});

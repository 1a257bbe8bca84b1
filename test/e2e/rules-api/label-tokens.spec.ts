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

  it('looks across any number of merchants, and sees nothing of others', async () => {
    const merchants = Array.from({ length: 150 }, (_, i) => ({
      id: `m${String(i).padStart(3, '0')}`,
      name: `M ${i}`,
      labels: { region: 'eu' },
      rules: [],
    }));
    expect((await api.ask('POST', '/v1/apply', { version: 1, merchants })).status).toBe(200);
    const all = ['berlin', ...merchants.map(({ id }) => id), 'paris'];
    expect(idsOf(await european('GET', '/v1/merchants?limit=200'))).toEqual(all);
    const exported = (await european('GET', '/v1/export?format=json')).body as { merchants: { id: string }[] };
    expect(exported.merchants.map(({ id }) => id)).toEqual(all);
    const selected = (await european('GET', '/v1/export?format=json&select=tier%3Dgold')).body as { merchants: { id: string }[] };
    expect(selected.merchants.map(({ id }) => id)).toEqual(['berlin']);
    const seen = new Set<string>();
    for (let cursor: string | null = ''; cursor !== null;) {
      const { body } = await european('GET', `/v1/audit?limit=100${cursor && `&cursor=${cursor}`}`);
      for (const { merchantId } of body.items as { merchantId: string }[]) seen.add(merchantId);
      cursor = body.nextCursor as string | null;
    }
    expect([...seen].sort()).toEqual(all);
    expect((await european('GET', '/v1/audit?merchant=boston')).body).toMatchObject({ items: [] });
    expect((await european('GET', '/v1/export?merchant=boston')).status).toBe(403);
    expect((await european('GET', '/v1/merchants/boston')).status).toBe(403);
    expect((await european('GET', '/v1/merchants/m098')).status).toBe(200);
  });

  it('sees and decides approvals of its merchants only, however many these are', async () => {
    const wanted = async (id: string): Promise<string> => {
      const rule = await api.ask('POST', `/v1/merchants/${id}/rules`, ruleBody({ name: 'kept', labels: { protected: 'true' } }));
      const { headers } = await api.ask('PATCH', rule.headers.get('location')!, { priority: 7 }, { 'if-match': '*' });
      return headers.get('location')!;
    };
    const [own, other] = [await wanted('m007'), await wanted('boston')];
    const approver = (
      (await api.ask('POST', '/v1/tokens', { name: 'approver', role: 'approver', label: 'region=eu' })).body as { token: string }
    ).token;
    const approve = (method: string, path: string) => ask(api.app.url, method, path, undefined, { authorization: `Bearer ${approver}` });
    expect(idsOf(await approve('GET', '/v1/approvals'))).toEqual([own.split('/').at(-1)]);
    expect((await approve('GET', own)).status).toBe(200);
    expect((await approve('GET', other)).status).toBe(403);
    expect((await approve('POST', `${other}/approve`)).status).toBe(403);
    expect((await approve('POST', `${own}/approve`)).body).toMatchObject({ state: 'approved' });
  });
});

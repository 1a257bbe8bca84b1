import { ruleBody } from '../../support/factories/rules.js';
import { type Answer, type Api, ask, startRulesApi } from './api.js';
import { until } from '../../support/until.js';

let api: Api;
const tokens: Record<string, string> = {};
let ruleId: string;

beforeAll(async () => {
  api = await startRulesApi();
  for (const id of ['acme', 'other']) await api.ask('POST', '/v1/merchants', { id, name: id });
  ruleId = ((await api.ask('POST', '/v1/merchants/acme/rules', ruleBody())).body as { id: string }).id;
  for (const [name, body] of Object.entries({
    viewer: { role: 'viewer' },
    editor: { role: 'editor' },
    approver: { role: 'approver' },
    admin: { role: 'admin' },
    ofAcme: { role: 'editor', merchants: ['acme'] },
    ofOther: { role: 'admin', merchants: ['other'] },
  })) {
    tokens[name] = ((await api.ask('POST', '/v1/tokens', { name: `the ${name}`, ...body })).body as { token: string }).token;
  }
});
afterAll(() => api.close());

const as = (name: string, method: string, path: string, body?: unknown): Promise<Answer> =>
  ask(api.app.url, method, path, body, { authorization: `Bearer ${tokens[name]}`, 'if-match': '*' });

/** Every call, the role that it needs, and whether a token of acme alone may make it. A body of {} is wrong everywhere: who may ask gets another answer than 403. */
const MATRIX: readonly [method: string, path: string, role: string, ofAcme: boolean][] = [
  ['GET', '/v1/merchants', 'viewer', true],
  ['POST', '/v1/merchants', 'editor', false],
  ['GET', '/v1/merchants/{merchantId}', 'viewer', true],
  ['PATCH', '/v1/merchants/{merchantId}', 'editor', true],
  ['DELETE', '/v1/merchants/{merchantId}', 'editor', true],
  ['GET', '/v1/merchants/{merchantId}/history', 'viewer', true],
  ['GET', '/v1/merchants/{merchantId}/rules', 'viewer', true],
  ['POST', '/v1/merchants/{merchantId}/rules', 'editor', true],
  ['GET', '/v1/merchants/{merchantId}/rules/{ruleId}', 'viewer', true],
  ['PUT', '/v1/merchants/{merchantId}/rules/{ruleId}', 'editor', true],
  ['PATCH', '/v1/merchants/{merchantId}/rules/{ruleId}', 'editor', true],
  ['DELETE', '/v1/merchants/{merchantId}/rules/{ruleId}', 'editor', true],
  ['GET', '/v1/merchants/{merchantId}/rules/{ruleId}/history', 'viewer', true],
  ['POST', '/v1/merchants/{merchantId}/rules/{ruleId}/revert', 'editor', true],
  ['GET', '/v1/default-rules', 'viewer', true],
  ['POST', '/v1/default-rules', 'editor', false],
  ['GET', '/v1/default-rules/{ruleId}', 'viewer', true],
  ['PUT', '/v1/default-rules/{ruleId}', 'editor', false],
  ['PATCH', '/v1/default-rules/{ruleId}', 'editor', false],
  ['DELETE', '/v1/default-rules/{ruleId}', 'editor', false],
  ['GET', '/v1/default-rules/{ruleId}/history', 'viewer', true],
  ['POST', '/v1/default-rules/{ruleId}/revert', 'editor', false],
  ['GET', '/v1/plans', 'viewer', true],
  ['GET', '/v1/plans/{plan}', 'viewer', true],
  ['PUT', '/v1/plans/{plan}', 'editor', false],
  ['DELETE', '/v1/plans/{plan}', 'editor', false],
  ['GET', '/v1/plans/{plan}/history', 'viewer', true],
  ['GET', '/v1/plans/{plan}/rules', 'viewer', true],
  ['POST', '/v1/plans/{plan}/rules', 'editor', false],
  ['GET', '/v1/plans/{plan}/rules/{ruleId}', 'viewer', true],
  ['PUT', '/v1/plans/{plan}/rules/{ruleId}', 'editor', false],
  ['PATCH', '/v1/plans/{plan}/rules/{ruleId}', 'editor', false],
  ['DELETE', '/v1/plans/{plan}/rules/{ruleId}', 'editor', false],
  ['GET', '/v1/plans/{plan}/rules/{ruleId}/history', 'viewer', true],
  ['POST', '/v1/plans/{plan}/rules/{ruleId}/revert', 'editor', false],
  ['GET', '/v1/audit', 'viewer', true],
  ['GET', '/v1/merchants/{merchantId}/buckets', 'viewer', true],
  ['POST', '/v1/merchants/{merchantId}/buckets/reset', 'editor', true],
  ['POST', '/v1/merchants/{merchantId}/buckets/adjust', 'editor', true],
  ['POST', '/v1/merchants/{merchantId}/buckets/block', 'editor', true],
  ['POST', '/v1/merchants/{merchantId}/buckets/unblock', 'editor', true],
  ['POST', '/v1/explain', 'viewer', true],
  ['GET', '/v1/export', 'viewer', true],
  ['POST', '/v1/apply', 'editor', false],
  ['GET', '/v1/tokens', 'admin', false],
  ['POST', '/v1/tokens', 'admin', false],
  ['GET', '/v1/tokens/{tokenId}', 'admin', false],
  ['POST', '/v1/tokens/{tokenId}/rotate', 'admin', false],
  ['DELETE', '/v1/tokens/{tokenId}', 'admin', false],
];

const ROLES = ['viewer', 'editor', 'approver', 'admin'];

describe('who may do what', () => {
  it('says of every call that is documented', async () => {
    const { paths } = (await api.ask('GET', '/openapi.json')).body as { paths: Record<string, Record<string, unknown>> };
    const documented = Object.entries(paths).flatMap(([path, calls]) =>
      Object.keys(calls).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(documented.sort()).toEqual(MATRIX.map(([method, path]) => `${method} ${path}`).sort());
  });

  describe.each(MATRIX)('%s %s', (method, template, role, ofAcme) => {
    // No such rule and token: whoever may ask is told so, and nothing is done.
    const path = (merchantId: string) =>
      template
        .replace('{merchantId}', merchantId)
        .replace('{plan}', 'nothing')
        .replace('{ruleId}', '999999')
        .replace('{tokenId}', '999999');
    const body = method === 'GET' || method === 'DELETE' ? undefined : {};
    const isAboutMerchant = template.includes('{merchantId}');

    it.each(ROLES)(`is for ${role} and above: %s`, async (bearer) => {
      const { status } = await as(bearer, method, path('nobody'), body);
      expect(status === 403).toBe(ROLES.indexOf(bearer) < ROLES.indexOf(role));
      expect(status).not.toBe(401);
    });

    it('of a token that is limited to merchants asks for one of them', async () => {
      if (method !== 'DELETE' || !template.endsWith('{merchantId}'))
        expect((await as('ofAcme', method, path('acme'), body)).status === 403).toBe(!ofAcme);
      if (isAboutMerchant) expect((await as('ofOther', method, path('acme'), body)).status).toBe(403);
    });
  });

  it('a token of one merchant sees nothing of another, also in lists', async () => {
    expect((await as('ofOther', 'GET', `/v1/merchants/acme/rules/${ruleId}`)).status).toBe(403);
    expect((await as('ofOther', 'GET', '/v1/merchants')).body).toMatchObject({ items: [{ id: 'other' }], nextCursor: null });
    const { items } = (await as('ofOther', 'GET', '/v1/audit?limit=200')).body as { items: { merchantId: string }[] };
    expect(new Set(items.map(({ merchantId }) => merchantId))).toEqual(new Set(['other']));
    expect((await as('ofOther', 'GET', '/v1/audit?merchant=acme')).body).toMatchObject({ items: [] });
  });

  it('the audit names the bearer', async () => {
    await as('ofAcme', 'PATCH', '/v1/merchants/acme', { name: 'Acme Ltd' });
    expect((await api.ask('GET', '/v1/audit?actor=the%20ofAcme')).body).toMatchObject({
      items: [{ action: 'merchant.updated', actor: 'the ofAcme', merchantId: 'acme' }],
    });
  });
});

describe('a token', () => {
  const created = (body: object) => api.ask('POST', '/v1/tokens', body);

  it('is shown once, and kept nowhere', async () => {
    const answer = await created({ name: 'shown once', role: 'viewer', expiresAt: '2100-01-01T00:00:00Z' });
    expect(answer.status).toBe(201);
    const { token, id, prefix } = answer.body as { token: string; id: string; prefix: string };
    expect(token).toMatch(new RegExp(`^tga_${prefix}_[A-Za-z0-9_-]{43}$`));
    expect(answer.headers.get('location')).toBe(`/v1/tokens/${id}`);
    for (const path of [`/v1/tokens/${id}`, '/v1/tokens', '/v1/audit?limit=200']) {
      expect(JSON.stringify((await api.ask('GET', path)).body)).not.toContain(token);
    }
    expect((await api.ask('GET', `/v1/tokens/${id}`)).body).toMatchObject({
      id,
      name: 'shown once',
      role: 'viewer',
      prefix,
      lastUsedAt: null,
    });
    expect(JSON.stringify(api.app.logs)).not.toContain(token);
  });

  it('says when it was last used', async () => {
    await as('viewer', 'GET', '/v1/merchants');
    const { items } = (await api.ask('GET', '/v1/tokens?limit=200')).body as { items: { name: string; lastUsedAt: string | null }[] };
    expect(items.find(({ name }) => name === 'the viewer')?.lastUsedAt).toMatch(/^\d{4}-/);
  });

  it('is revoked within two seconds', async () => {
    const { token, id } = (await created({ name: 'to be revoked', role: 'viewer' })).body as { token: string; id: string };
    const status = async () => (await ask(api.app.url, 'GET', '/v1/merchants', undefined, { authorization: `Bearer ${token}` })).status;
    expect(await status()).toBe(200);
    expect((await api.ask('DELETE', `/v1/tokens/${id}`)).status).toBe(204);
    expect((await api.ask('DELETE', `/v1/tokens/${id}`)).status).toBe(404);
    await until('a revoked token is refused', async () => (await status()) === 401);
  });

  it('is rotated, and the former one is good as long as it was said', async () => {
    const { token, id } = (await created({ name: 'to be rotated', role: 'viewer' })).body as { token: string; id: string };
    const status = async (bearer: string) =>
      (await ask(api.app.url, 'GET', '/v1/merchants', undefined, { authorization: `Bearer ${bearer}` })).status;
    const rotated = await api.ask('POST', `/v1/tokens/${id}/rotate`, { overlapSeconds: 3_600 });
    expect(rotated.status).toBe(200);
    const second = (rotated.body as { token: string }).token;
    expect([await status(token), await status(second)]).toEqual([200, 200]);
    const third = ((await api.ask('POST', `/v1/tokens/${id}/rotate`, { overlapSeconds: 0 })).body as { token: string }).token;
    expect(await status(third)).toBe(200);
    await until('the former tokens are refused', async () => (await status(token)) === 401 && (await status(second)) === 401);
  });

  it.each([
    [{ role: 'viewer' }, '/name'],
    [{ name: 'admin', role: 'viewer' }, '/name'],
    [{ name: 'x', role: 'emperor' }, '/role'],
    [{ name: 'x', role: 'viewer', merchants: [] }, '/merchants'],
    [{ name: 'x', role: 'viewer', merchants: ['a', 'a'] }, '/merchants/1'],
    [{ name: 'x', role: 'viewer', expiresAt: '2020-01-01T00:00:00Z' }, '/expiresAt'],
    [{ name: 'x', role: 'viewer', expiresAt: '2100-01-01' }, '/expiresAt'],
    [{ name: 'x', role: 'viewer', secret: 'mine' }, '/secret'],
  ])('%j is refused, and %s named', async (body, pointer) => {
    const answer = await created(body);
    expect(answer.status).toBe(400);
    expect((answer.body as { errors: { pointer: string }[] }).errors.map((error) => error.pointer)).toEqual([pointer]);
  });

  it('has a name of its own', async () => {
    expect((await created({ name: 'the viewer', role: 'viewer' })).status).toBe(409);
  });
});

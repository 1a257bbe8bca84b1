import { ruleBody } from '../../support/factories/rules.js';
import { TestIssuer } from '../../support/oidc-issuer.js';
import { type Answer, type Api, ask, startRulesApi } from './api.js';
import { until } from '../../support/until.js';

let api: Api;
let issuer: TestIssuer;
const tokens: Record<string, string> = {};
let ruleId: string;

beforeAll(async () => {
  issuer = await TestIssuer.start();
  api = await startRulesApi({ OIDC_ISSUER: issuer.url, OIDC_MERCHANTS_CLAIM: 'tenants', APPROVAL_OVERRIDE_FACTOR: '5' });
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
  tokens.keyOfAcme = ((await api.ask('POST', '/v1/merchants/acme/api-keys', { name: 'shop' })).body as { key: string }).key;
});
afterAll(() => Promise.all([api.close(), issuer.close()]));

const as = (name: string, method: string, path: string, body?: unknown): Promise<Answer> =>
  ask(api.app.url, method, path, body, { authorization: `Bearer ${tokens[name]}`, 'if-match': '*' });

/** Instead of a role: a merchant does it for itself, by an API key, and nobody else does. */
const MERCHANT = 'the merchant itself';

/** Every call, the role that it needs, and whether a token of acme alone may make it. A body of {} is wrong everywhere: who may ask gets another answer than 403. */
const MATRIX: readonly [method: string, path: string, role: string, ofAcme: boolean][] = [
  ['GET', '/v1/merchants', 'viewer', true],
  ['POST', '/v1/merchants', 'editor', false],
  ['GET', '/v1/merchants/{merchantId}', 'viewer', true],
  ['PATCH', '/v1/merchants/{merchantId}', 'editor', true],
  ['DELETE', '/v1/merchants/{merchantId}', 'editor', true],
  ['GET', '/v1/merchants/{merchantId}/history', 'viewer', true],
  ['POST', '/v1/merchants/{merchantId}/revert', 'editor', true],
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
  ['PATCH', '/v1/plans/{plan}', 'editor', false],
  ['DELETE', '/v1/plans/{plan}', 'editor', false],
  ['GET', '/v1/plans/{plan}/history', 'viewer', true],
  ['POST', '/v1/plans/{plan}/revert', 'editor', false],
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
  ['GET', '/v1/merchants/{merchantId}/overrides', 'viewer', true],
  ['POST', '/v1/merchants/{merchantId}/overrides', 'editor', true],
  ['GET', '/v1/merchants/{merchantId}/overrides/{overrideId}', 'viewer', true],
  ['DELETE', '/v1/merchants/{merchantId}/overrides/{overrideId}', 'editor', true],
  ['POST', '/v1/explain', 'viewer', true],
  ['POST', '/v1/rules/preview', 'viewer', true],
  ['GET', '/v1/merchants/{merchantId}/usage', 'viewer', true],
  ['GET', '/v1/usage/top', 'viewer', true],
  ['GET', '/v1/usage/top-keys', 'viewer', true],
  ['GET', '/v1/decisions', 'viewer', true],
  ['GET', '/v1/decisions/{requestId}', 'viewer', true],
  ['GET', '/v1/export', 'viewer', true],
  ['POST', '/v1/apply', 'editor', false],
  ['GET', '/v1/merchants/{merchantId}/api-keys', 'viewer', true],
  ['POST', '/v1/merchants/{merchantId}/api-keys', 'admin', false],
  ['GET', '/v1/merchants/{merchantId}/api-keys/{keyId}', 'viewer', true],
  ['POST', '/v1/merchants/{merchantId}/api-keys/{keyId}/rotate', 'admin', false],
  ['DELETE', '/v1/merchants/{merchantId}/api-keys/{keyId}', 'admin', false],
  ['GET', '/v1/switches/{switchName}', 'viewer', false],
  ['PUT', '/v1/switches/{switchName}', 'admin', false],
  ['GET', '/v1/approvals', 'viewer', true],
  ['GET', '/v1/approvals/{approvalId}', 'viewer', true],
  ['POST', '/v1/approvals/{approvalId}/approve', 'approver', false],
  ['POST', '/v1/approvals/{approvalId}/reject', 'approver', false],
  ['GET', '/v1/webhooks', 'admin', false],
  ['POST', '/v1/webhooks', 'admin', false],
  ['GET', '/v1/webhooks/{webhookId}', 'admin', false],
  ['PATCH', '/v1/webhooks/{webhookId}', 'admin', false],
  ['DELETE', '/v1/webhooks/{webhookId}', 'admin', false],
  ['POST', '/v1/webhooks/{webhookId}/rotate', 'admin', false],
  ['POST', '/v1/webhooks/{webhookId}/test', 'admin', false],
  ['GET', '/v1/webhooks/{webhookId}/deliveries', 'admin', false],
  ['GET', '/v1/webhooks/{webhookId}/deliveries/{deliveryId}', 'admin', false],
  ['POST', '/v1/webhooks/{webhookId}/deliveries/{deliveryId}/retry', 'admin', false],
  ['GET', '/v1/tokens', 'admin', false],
  ['POST', '/v1/tokens', 'admin', false],
  ['GET', '/v1/tokens/{tokenId}', 'admin', false],
  ['GET', '/v1/tokens/{tokenId}/history', 'admin', false],
  ['GET', '/v1/switches/{switchName}/history', 'viewer', false],
  ['POST', '/v1/tokens/{tokenId}/rotate', 'admin', false],
  ['DELETE', '/v1/tokens/{tokenId}', 'admin', false],
  ['GET', '/v1/me/limits', MERCHANT, false],
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
        .replace(/\{\w+\}/g, '999999');
    const body = method === 'GET' || method === 'DELETE' ? undefined : {};
    const isAboutMerchant = template.includes('{merchantId}');

    it.each(ROLES)(`is for ${role} and above: %s`, async (bearer) => {
      const { status } = await as(bearer, method, path('nobody'), body);
      expect(status === 403).toBe(role === MERCHANT || ROLES.indexOf(bearer) < ROLES.indexOf(role));
      expect(status).not.toBe(401);
    });

    it('of a token that is limited to merchants asks for one of them', async () => {
      if (method !== 'DELETE' || !template.endsWith('{merchantId}'))
        expect((await as('ofAcme', method, path('acme'), body)).status === 403).toBe(!ofAcme);
      if (isAboutMerchant) expect((await as('ofOther', method, path('acme'), body)).status).toBe(403);
    });

    it('is open to the API key of a merchant only if it is for the merchant itself', async () => {
      const { status, body: problem } = await as('keyOfAcme', method, path('acme'), body);
      // There is no Redis here: whoever may ask for live buckets is told so.
      expect([status, problem?.code]).toEqual(role === MERCHANT ? [503, 'buckets.unavailable'] : [403, 'api_key.only_for_me']);
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

describe('a rule that is labelled protected', () => {
  const PROTECTED = { labels: { protected: 'true' } };
  const rules = '/v1/merchants/acme/rules';
  const made = async (name: string): Promise<string> =>
    (await api.ask('POST', rules, ruleBody({ name, ...PROTECTED }))).headers.get('location') ?? '';
  const wanted = async (change: Promise<Answer>): Promise<string> => {
    const { status, headers, body } = await change;
    expect([status, body.state, headers.get('etag')]).toEqual([202, 'wanted', null]);
    expect(headers.get('location')).toBe(`/v1/approvals/${body.id}`);
    return `/v1/approvals/${body.id}`;
  };

  it('changes when a second administrator approves it, and the history names both', async () => {
    const path = await made('two eyes');
    const reason = { 'if-match': '"1"', 'x-change-reason': 'ticket OPS-17' };
    const approval = await wanted(api.ask('PATCH', path, { priority: 7, labels: { protected: 'false' } }, reason));
    expect((await api.ask('GET', path)).body).toMatchObject({ version: 1, priority: 100 });
    // Repeated, it is the same approval.
    expect(await wanted(api.ask('PATCH', path, { priority: 7, labels: { protected: 'false' } }, reason))).toBe(approval);
    expect((await api.ask('GET', approval)).body).toMatchObject({
      state: 'wanted',
      proposedBy: 'admin',
      reason: 'ticket OPS-17',
      change: {
        action: 'rule.replaced',
        merchantId: 'acme',
        version: 1,
        // What was asked for, and nothing of how it is stored.
        patch: [
          { op: 'replace', path: '/labels/protected', value: 'false' },
          { op: 'replace', path: '/priority', value: 7 },
        ],
      },
    });
    const own = await api.ask('POST', `${approval}/approve`, {});
    expect([own.status, own.body.code, own.body.type]).toEqual([403, 'approval.own', expect.stringMatching(/\/problems\/forbidden$/)]);
    const approved = await as('approver', 'POST', `${approval}/approve`, { reason: 'seen' });
    expect([approved.status, approved.body.state, approved.body.decidedBy]).toEqual([200, 'approved', 'the approver']);
    expect((await api.ask('GET', path)).body).toMatchObject({ version: 2, priority: 7 });
    expect((await api.ask('GET', `${path}/history`)).body.items).toMatchObject([
      { action: 'approval.approved', actor: 'the approver', reason: 'seen' },
      { action: 'rule.replaced', actor: 'admin', approvedBy: 'the approver', reason: 'ticket OPS-17', version: 2 },
      { action: 'approval.wanted', actor: 'admin', reason: 'ticket OPS-17' },
      { action: 'rule.created', actor: 'admin' },
    ]);
    const again = await as('admin', 'POST', `${approval}/approve`, {});
    expect([again.status, again.body.code]).toEqual([409, 'approval.not_wanted']);
    // The label is gone.
    expect((await api.ask('PATCH', path, { priority: 8 }, { 'if-match': '"2"' })).status).toBe(200);
  });

  it('is deleted and comes back by approval only', async () => {
    const path = await made('deleted');
    const deletion = await wanted(as('ofAcme', 'DELETE', path));
    expect((await as('ofOther', 'POST', `${deletion}/approve`, {})).status).toBe(403);
    expect((await as('ofOther', 'GET', deletion)).status).toBe(403);
    expect((await as('ofOther', 'GET', '/v1/approvals')).body.items).toEqual([]);
    expect((await api.ask('POST', `${deletion}/approve`, {})).status).toBe(200);
    expect((await api.ask('GET', path)).status).toBe(404);
    const revert = await wanted(as('editor', 'POST', `${path}/revert`, { version: 1 }));
    expect((await api.ask('GET', path)).status).toBe(404);
    expect((await api.ask('POST', `${revert}/approve`, {})).status).toBe(200);
    expect((await api.ask('GET', path)).body).toMatchObject({ version: 2, name: 'deleted' });
    expect((await api.ask('GET', `${path}/history`)).body.items[1]).toMatchObject({ action: 'rule.reverted', approvedBy: 'admin' });
  });

  it('is overridden by approval only, and any rule by much', async () => {
    const overrides = '/v1/merchants/acme/overrides';
    const until = '2100-01-01T00:00:00Z';
    const soon = new Date(Date.now() + 3_600_000).toISOString();
    const idOf = (path: string) => path.split('/').at(-1)!;
    const [kept, usual] = [
      idOf(await made('kept')),
      idOf((await api.ask('POST', rules, ruleBody({ name: 'usual' }))).headers.get('location')!),
    ];
    await wanted(as('editor', 'POST', overrides, { ruleId: kept, multiply: 2, until: soon }));
    const body = { ruleId: usual, multiply: 6, until: soon, reason: 'a sale' };
    const large = await wanted(as('editor', 'POST', overrides, body));
    expect((await api.ask('GET', large)).body.change).toMatchObject({
      action: 'override.created',
      ruleId: usual,
      version: 1,
      patch: [{ op: 'add', path: '', value: body }],
    });
    // Of nothing that can never begin anybody has to decide.
    expect((await as('editor', 'POST', overrides, { ...body, until })).status).toBe(400);
    expect((await as('approver', 'POST', `${large}/approve`, {})).status).toBe(200);
    expect((await api.ask('GET', overrides)).body.items).toMatchObject([
      { ruleId: usual, multiply: 6, createdBy: 'the editor', until: soon },
    ]);
    expect((await api.ask('GET', `${rules}/${usual}/history?limit=2`)).body.items).toMatchObject([
      { action: 'approval.approved', actor: 'the approver' },
      { action: 'override.created', actor: 'the editor', approvedBy: 'the approver', reason: 'a sale' },
    ]);
    const small = await as('editor', 'POST', overrides, { ...body, multiply: 5 });
    expect([small.status, small.body.code]).toEqual([409, 'override.rule.taken']);
  });

  it('is refused as any other where the change itself is wrong, and nothing waits', async () => {
    const path = await made('checked');
    await api.ask('POST', rules, ruleBody({ name: 'taken' }));
    expect((await api.ask('PUT', path, ruleBody(), { 'if-match': '"9"' })).status).toBe(412);
    expect((await api.ask('PATCH', path, { cost: -1 }, { 'if-match': '*' })).status).toBe(400);
    expect((await api.ask('PATCH', path, { name: 'taken' }, { 'if-match': '*' })).status).toBe(409);
    const { items } = (await api.ask('GET', `/v1/approvals?state=wanted&limit=200`)).body as { items: { change: { ruleId: string } }[] };
    expect(items.filter(({ change }) => path.endsWith(`/${change.ruleId}`))).toEqual([]);
  });

  it('keeps what it is when the approval comes too late or is refused', async () => {
    const path = await made('raced');
    const first = await wanted(as('editor', 'PATCH', path, { priority: 1 }));
    const second = await wanted(as('editor', 'PATCH', path, { priority: 2 }));
    const third = await wanted(as('editor', 'PATCH', path, { priority: 3 }));
    expect((await api.ask('POST', `${third}/reject`, {})).body.errors).toMatchObject([
      { pointer: '/reason', code: 'approval.reason.missing' },
    ]);
    expect((await api.ask('POST', `${third}/reject`, undefined, { 'x-change-reason': 'why?' })).body).toMatchObject({
      state: 'rejected',
      decisionReason: 'why?',
    });
    expect((await api.ask('POST', `${first}/approve`, {})).status).toBe(200);
    const late = await api.ask('POST', `${second}/approve`, {});
    expect([late.status, late.body.code]).toEqual([409, 'approval.outdated']);
    const states = await Promise.all([first, second, third].map(async (each) => (await api.ask('GET', each)).body.state as string));
    expect(states).toEqual(['approved', 'outdated', 'rejected']);
    expect((await api.ask('GET', path)).body).toMatchObject({ version: 2, priority: 1 });
    const { items } = (await api.ask('GET', '/v1/audit?limit=3')).body as { items: { action: string }[] };
    expect(items.map(({ action }) => action)).toEqual(['approval.outdated', 'approval.approved', 'rule.replaced']);
  });

  it('is changed neither by a file nor with its merchant', async () => {
    await api.ask('POST', '/v1/merchants', { id: 'guarded', name: 'Guarded' });
    await api.ask('POST', '/v1/merchants/guarded/rules', ruleBody({ name: 'kept', ...PROTECTED }));
    const file = (fields: object) => ({
      version: 1,
      merchants: [{ id: 'guarded', name: 'Guarded', rules: [ruleBody({ name: 'kept', ...fields })] }],
    });
    expect((await api.ask('POST', '/v1/apply', file(PROTECTED))).body).toMatchObject({ applied: true, changes: [] });
    const preview = await api.ask('POST', '/v1/apply?dryRun=true', file({}));
    expect([preview.status, preview.body.refusal.code]).toEqual([200, 'approval.needed']);
    for (const refused of [
      await api.ask('POST', '/v1/apply', file({})),
      await api.ask('DELETE', '/v1/merchants/guarded', undefined, { 'if-match': '*' }),
    ]) {
      expect([refused.status, refused.body.code]).toEqual([409, 'approval.needed']);
      expect(refused.body.detail).toContain('"kept"');
    }
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
    [{ name: 'oidc:alice', role: 'viewer' }, '/name'],
    [{ name: 'x', role: 'emperor' }, '/role'],
    [{ name: 'x', role: 'viewer', merchants: [] }, '/merchants'],
    [{ name: 'x', role: 'viewer', merchants: ['a', 'a'] }, '/merchants/1'],
    [{ name: 'x', role: 'viewer', label: 'eu' }, '/label'],
    [{ name: 'x', role: 'viewer', label: 'region=eu', merchants: ['acme'] }, '/label'],
    [{ name: 'x', role: 'viewer', expiresAt: '2020-01-01T00:00:00Z' }, '/expiresAt'],
    [{ name: 'x', role: 'viewer', expiresAt: '2100-01-01' }, '/expiresAt'],
    [{ name: 'x', role: 'viewer', secret: 'mine' }, '/secret'],
  ])('%j is refused, and %s named', async (body, pointer) => {
    const answer = await created(body);
    expect(answer.status).toBe(400);
    expect((answer.body as { errors: { pointer: string }[] }).errors.map((error) => error.pointer)).toEqual([pointer]);
  });

  it('has a history that outlives it, without a secret', async () => {
    const { id } = (await created({ name: 'with a past', role: 'viewer' })).body as { id: string };
    await api.ask('POST', `/v1/tokens/${id}/rotate`, {}, { 'x-change-reason': 'once a year' });
    await api.ask('DELETE', `/v1/tokens/${id}`);
    const { items } = (await api.ask('GET', `/v1/tokens/${id}/history`)).body;
    expect(items).toMatchObject([
      { action: 'token.deleted' },
      { action: 'token.rotated', reason: 'once a year' },
      { action: 'token.created', actor: 'admin' },
    ]);
    expect(items[2].patch[0].value).toMatchObject({ name: 'with a past', role: 'viewer' });
    expect(JSON.stringify(items)).not.toMatch(/hash/i);
    const older = (await api.ask('GET', `/v1/tokens/${id}/history?limit=2`)).body;
    expect((await api.ask('GET', `/v1/tokens/${id}/history?cursor=${older.nextCursor}`)).body.items).toMatchObject([
      { action: 'token.created' },
    ]);
    expect((await api.ask('GET', '/v1/tokens/999999/history')).body.code).toBe('token.not_found');
  });

  it('has a name of its own', async () => {
    expect((await created({ name: 'the viewer', role: 'viewer' })).status).toBe(409);
  });
});

describe('an API key of a merchant', () => {
  const KEYS = '/v1/merchants/acme/api-keys';
  const me = async (key: string) => (await ask(api.app.url, 'GET', '/v1/me/limits', undefined, { authorization: `Bearer ${key}` })).status;

  it('is shown once, and kept nowhere', async () => {
    const body = { name: 'shown once', user: 'u1', labels: { team: 'web' }, expiresAt: '2100-01-01T00:00:00Z' };
    const answer = await api.ask('POST', KEYS, body, { 'idempotency-key': 'one-key' });
    const { key, id, prefix } = answer.body as { key: string; id: string; prefix: string };
    expect(answer.status).toBe(201);
    expect(key).toMatch(new RegExp(`^tgk_${prefix}_[A-Za-z0-9_-]{43}$`));
    expect(answer.headers.get('location')).toBe(`${KEYS}/${id}`);
    const again = await api.ask('POST', KEYS, body, { 'idempotency-key': 'one-key' });
    expect([again.status, again.body.code]).toEqual([409, 'idempotency_key.shown_once']);
    for (const path of [`${KEYS}/${id}`, KEYS, '/v1/audit?limit=200', '/v1/merchants/acme/history'])
      expect(JSON.stringify((await api.ask('GET', path)).body)).not.toContain(key.slice(-43));
    expect((await api.ask('GET', `${KEYS}/${id}`)).body).toMatchObject({ id, ...body, expiresAt: '2100-01-01T00:00:00.000Z', prefix });
    expect(JSON.stringify(api.app.logs)).not.toContain(key.slice(-43));
  });

  it('is listed page by page, and only below its merchant', async () => {
    const first = (await api.ask('GET', `${KEYS}?limit=1`)).body as { items: { id: string; name: string }[]; nextCursor: string };
    expect(first.items).toMatchObject([{ name: 'shop' }]);
    const second = (await api.ask('GET', `${KEYS}?limit=1&cursor=${first.nextCursor}`)).body as typeof first;
    expect(second.items).toMatchObject([{ name: 'shown once' }]);
    expect((await api.ask('GET', '/v1/merchants/other/api-keys')).body).toMatchObject({ items: [], nextCursor: null });
    const [{ id } = { id: '' }] = first.items;
    for (const [method, path] of [
      ['GET', `/v1/merchants/other/api-keys/${id}`],
      ['DELETE', `/v1/merchants/other/api-keys/${id}`],
      ['GET', '/v1/merchants/nobody/api-keys'],
      ['GET', `${KEYS}/none`],
    ] as const)
      expect([method, path, (await api.ask(method, path)).status]).toEqual([method, path, 404]);
    expect((await api.ask('POST', '/v1/merchants/nobody/api-keys', { name: 'x' })).status).toBe(404);
  });

  it('may be made by an admin of this merchant alone', async () => {
    expect((await as('ofOther', 'POST', '/v1/merchants/other/api-keys', { name: 'own' })).status).toBe(201);
    expect((await as('ofOther', 'POST', KEYS, { name: 'own' })).status).toBe(403);
  });

  it('is rotated with an overlap, and revoked within two seconds', async () => {
    const { key: first, id } = (await api.ask('POST', KEYS, { name: 'to be rotated' })).body as { key: string; id: string };
    const rotated = await api.ask('POST', `${KEYS}/${id}/rotate`, {});
    const { key: second } = rotated.body as { key: string };
    expect(rotated.status).toBe(200);
    expect([await me(first), await me(second)]).toEqual([503, 503]);
    expect((await api.ask('DELETE', `${KEYS}/${id}`)).status).toBe(204);
    await until('both keys are refused', async () => (await me(first)) === 401 && (await me(second)) === 401);
  });

  it('ends with its merchant, also for a new merchant of this id', async () => {
    await api.ask('POST', '/v1/merchants', { id: 'short', name: 'Short' });
    const { key } = (await api.ask('POST', '/v1/merchants/short/api-keys', { name: 'x' })).body as { key: string };
    expect(await me(key)).toBe(503);
    await api.ask('DELETE', '/v1/merchants/short', undefined, { 'if-match': '*' });
    await api.ask('POST', '/v1/merchants', { id: 'short', name: 'Short' });
    await until('the key is refused', async () => (await me(key)) === 401);
    expect((await api.ask('GET', '/v1/merchants/short/api-keys')).body).toMatchObject({ items: [] });
  });

  it.each([
    [{}, '/name'],
    [{ name: ' x' }, '/name'],
    [{ name: 'x', user: '' }, '/user'],
    [{ name: 'x', labels: { A: 'b' } }, '/labels/A'],
    [{ name: 'x', expiresAt: '2020-01-01T00:00:00Z' }, '/expiresAt'],
    [{ name: 'x', key: 'mine' }, '/key'],
  ])('%j is refused, and %s named', async (body, pointer) => {
    const answer = await api.ask('POST', KEYS, body);
    expect(answer.status).toBe(400);
    expect((answer.body as { errors: { pointer: string }[] }).errors.map((error) => error.pointer)).toEqual([pointer]);
  });

  it('has a name of its own', async () => {
    const { status, body } = await api.ask('POST', KEYS, { name: 'shop' });
    expect([status, body.code]).toEqual([409, 'api_key.name.taken']);
  });
});

describe('a token of the OIDC issuer', () => {
  const askAs = async (claims: object, method: string, path: string, body?: unknown) =>
    ask(api.app.url, method, path, body, { authorization: `Bearer ${await issuer.sign({ tenants: '*', ...claims })}`, 'if-match': '*' });

  it('may do what its role may, at its merchants, and stands in the audit as its subject', async () => {
    expect((await askAs({ roles: ['viewer'] }, 'PATCH', '/v1/merchants/acme', { name: 'x' })).status).toBe(403);
    expect((await askAs({ tenants: ['other'] }, 'PATCH', '/v1/merchants/acme', { name: 'x' })).status).toBe(403);
    expect((await askAs({ tenants: ['acme'] }, 'PATCH', '/v1/merchants/acme', { name: 'Acme Inc' })).status).toBe(200);
    const { body } = await api.ask('GET', '/v1/audit?actor=oidc%3Aalice%40example.com');
    expect(body).toMatchObject({ items: [{ action: 'merchant.updated', actor: 'oidc:alice@example.com' }] });
    expect((await askAs({}, 'GET', '/v1/me/limits')).body.code).toBe('api_key.needed');
  });

  it('without a role is told so, and with a wrong signature is none', async () => {
    const { status, body } = await askAs({ roles: ['owner'] }, 'GET', '/v1/merchants');
    expect([status, body.code]).toEqual([403, 'token.role_unknown']);
    const [header, claims] = (await issuer.sign()).split('.');
    const wrong = await ask(api.app.url, 'GET', '/v1/merchants', undefined, { authorization: `Bearer ${header}.${claims}.AAAA` });
    expect([wrong.status, wrong.body.code]).toEqual([401, 'token.invalid']);
    expect(wrong.headers.get('www-authenticate')).toMatch(/^Bearer realm="tollgate"/);
  });
});

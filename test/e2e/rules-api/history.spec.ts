import { ruleBody } from '../../support/factories/rules.js';
import { type Answer, type Api, emptyRulesApi } from './api.js';

let api: Api;
beforeAll(async () => {
  api = await emptyRulesApi();
  await api.ask(
    'POST',
    '/v1/merchants',
    { id: 'acme', name: 'Acme' },
    { 'x-change-reason': Buffer.from('neuer Kunde, Müller').toString('latin1') },
  );
});

interface Change {
  action: string;
  version: number | null;
  patch: unknown[];
}

const inAnHour = (): string => new Date(Date.now() + 3_600_000).toISOString();
const changes = (body: { items: Change[] }) => body.items.map(({ action, version, patch }) => ({ action, version, patch }));
const limits = (capacity: number) => [{ name: 'burst', algorithm: 'token_bucket', capacity, refillTokens: 5, refillIntervalMs: 1_000 }];

describe('the field reason of a body', () => {
  const lastReason = async (): Promise<unknown> =>
    ((await api.ask('GET', '/v1/audit?limit=1')).body as { items: { reason: unknown }[] }).items[0]?.reason;
  const any = { 'if-match': '*' };
  let rule: string;
  beforeAll(async () => {
    await api.ask('POST', '/v1/merchants', { id: 'reasoned', name: 'x' });
    rule = (await api.ask('POST', '/v1/merchants/reasoned/rules', ruleBody({ name: 'why' }))).headers.get('location') ?? '';
  });

  it.each<[string, () => Promise<Answer>]>([
    ['a new rule', () => api.ask('POST', '/v1/merchants/reasoned/rules', { ...ruleBody({ name: 'other' }), reason: 'why not' })],
    [
      'a replaced rule',
      async () => api.ask('PUT', rule, { ...((await api.ask('GET', rule)).body as object), priority: 8, reason: 'why not' }, any),
    ],
    ['a patched rule', () => api.ask('PATCH', rule, { priority: 9, reason: 'why not' }, any)],
    ['a reverted rule', () => api.ask('POST', `${rule}/revert`, { version: 1, reason: 'why not' }, any)],
    ['a merchant', () => api.ask('PATCH', '/v1/merchants/reasoned', { name: 'Acme Ltd', reason: 'why not' }, any)],
    ['a plan', () => api.ask('PUT', '/v1/plans/pro', { reason: 'why not' })],
    ['a token', () => api.ask('POST', '/v1/tokens', { name: 'a viewer', role: 'viewer', reason: 'why not' })],
    ['an API key', () => api.ask('POST', '/v1/merchants/reasoned/api-keys', { name: 'shop', reason: 'why not' })],
    ['a webhook', () => api.ask('POST', '/v1/webhooks', { url: 'https://example.com/', events: ['rule.changed'], reason: 'why not' })],
    [
      'an override',
      () =>
        api.ask('POST', '/v1/merchants/reasoned/overrides', {
          ruleId: rule.split('/').at(-1),
          multiply: 2,
          until: inAnHour(),
          reason: 'why not',
        }),
    ],
    ['a file', () => api.ask('POST', '/v1/apply', { version: 1, reason: 'why not', merchants: [{ id: 'filed', name: 'Filed' }] })],
  ])('says why %s is written', async (_what, change) => {
    expect((await change()).status).toBeLessThan(300);
    expect(await lastReason()).toBe('why not');
  });

  it('is no part of what is written', async () => {
    await api.ask('PATCH', rule, { priority: 10, reason: 'once' }, any);
    expect((await api.ask('GET', rule)).body).not.toHaveProperty('reason');
    expect((await api.ask('PATCH', '/v1/merchants/reasoned', { reason: 'nothing else' }, any)).body).toMatchObject({
      code: 'merchant.nothing_to_change',
    });
  });

  it('that differs from the header is refused, and nothing is changed', async () => {
    const { body: before } = await api.ask('GET', rule);
    const { status, body } = await api.ask('PATCH', rule, { priority: 11, reason: 'one' }, { ...any, 'x-change-reason': 'another' });
    expect(status).toBe(400);
    expect(body).toMatchObject({ errors: [{ pointer: '/reason', code: 'change_reason.contradictory' }] });
    expect((await api.ask('GET', rule)).body).toEqual(before);
    expect((await api.ask('PATCH', rule, { priority: 11, reason: 'one' }, { ...any, 'x-change-reason': 'one' })).status).toBe(200);
  });

  it.each(['', 'a\tb', 'x'.repeat(501), 5])('that is no short text (%j) is refused with its place', async (reason) => {
    const { status, body } = await api.ask('PATCH', rule, { priority: 12, reason }, any);
    expect(status).toBe(400);
    expect(body).toMatchObject({ errors: [{ pointer: '/reason' }] });
  });
});

describe.each(['/v1/merchants/acme/rules', '/v1/default-rules'])('a rule at %s', (rules) => {
  let path: string;

  beforeAll(async () => {
    path = (await api.ask('POST', rules, ruleBody({ limits: limits(10) }))).headers.get('location') ?? '';
    await api.ask('PUT', path, ruleBody({ limits: limits(20), priority: 7 }), { 'if-match': '"1"', 'x-change-reason': 'ticket OPS-17' });
  });

  it('has a history with who, when, why and the difference', async () => {
    const { status, body } = await api.ask('GET', `${path}/history`);
    expect(status).toBe(200);
    expect((body as { items: unknown[] }).items[0]).toEqual({
      id: expect.stringMatching(/^\d+$/) as string,
      at: expect.any(String) as string,
      actor: 'admin',
      action: 'rule.replaced',
      merchantId: rules.includes('acme') ? 'acme' : null,
      plan: null,
      ruleId: path.split('/').at(-1),
      version: 2,
      reason: 'ticket OPS-17',
      requestId: expect.any(String) as string,
      patch: expect.arrayContaining([
        { op: 'replace', path: '/priority', value: 7 },
        { op: 'replace', path: '/limits/0/capacity', value: 20 },
      ]) as unknown[],
    });
    expect((body as { items: { patch: unknown[] }[] }).items[0]?.patch).toHaveLength(2);
    expect(changes(body as { items: Change[] })[1]).toMatchObject({ action: 'rule.created', version: 1, patch: [{ op: 'add', path: '' }] });
  });

  it('is reverted to a former version, as a new one', async () => {
    expect((await api.ask('POST', `${path}/revert`, { version: 1 })).status).toBe(428);
    expect((await api.ask('POST', `${path}/revert`, { version: 1 }, { 'if-match': '"1"' })).status).toBe(412);
    const reverted = await api.ask('POST', `${path}/revert`, { version: 1 }, { 'if-match': '"2"' });
    expect(reverted.status).toBe(200);
    expect(reverted.headers.get('etag')).toBe('"3"');
    expect(reverted.body).toMatchObject({ version: 3, priority: 100, limits: [{ capacity: 10 }] });
    expect((await api.ask('GET', path)).body).toEqual(reverted.body);
  });

  it('is not reverted to what is probably a mistake where strict=true asks for that', async () => {
    const two = await api.ask('POST', rules, ruleBody({ name: 'two', limits: limits(3) }));
    const its = two.headers.get('location') ?? '';
    await api.ask('PUT', its, ruleBody({ name: 'two', priority: 9, match: { methods: ['PUT'], paths: [] } }), { 'if-match': '"1"' });
    const codes = ['rule.match.repeated', 'limit.capacity.below_refill'];
    const strict = await api.ask('POST', `${its}/revert?strict=true`, { version: 1 }, { 'if-match': '"2"' });
    expect([strict.status, strict.body]).toEqual([400, expect.objectContaining({ code: 'rule.warnings' })]);
    const found = (list: unknown) => (list as { code: string }[]).map(({ code }) => code).sort();
    expect(found((strict.body as { errors: unknown }).errors)).toEqual([...codes].sort());
    expect((await api.ask('GET', its)).headers.get('etag')).toBe('"2"');
    const reverted = await api.ask('POST', `${its}/revert`, { version: 1 }, { 'if-match': '"2"' });
    expect([reverted.status, found((reverted.body as { warnings: unknown }).warnings)]).toEqual([200, [...codes].sort()]);
    await api.ask('DELETE', its, undefined, { 'if-match': '*' });
    const restored = await api.ask('POST', `${its}/revert?strict=true`, { version: 1 }, { 'if-match': '*' });
    expect([restored.status, (await api.ask('GET', its)).status]).toEqual([400, 404]);
    expect((await api.ask('POST', `${its}/revert?strict=maybe`, { version: 1 }, { 'if-match': '*' })).status).toBe(400);
  });

  it('comes back after it was deleted', async () => {
    expect((await api.ask('DELETE', path, undefined, { 'if-match': '"3"' })).status).toBe(204);
    expect((await api.ask('POST', `${path}/revert`, { version: 2 }, { 'if-match': '"2"' })).status).toBe(412);
    const restored = await api.ask(
      'POST',
      `${path}/revert`,
      { version: 2 },
      { 'if-match': '"3"', 'x-change-reason': 'deleted by mistake' },
    );
    expect(restored.status).toBe(200);
    expect(restored.body).toMatchObject({ version: 4, priority: 7, limits: [{ capacity: 20 }] });
    expect((await api.ask('GET', path)).body).toEqual(restored.body);
    const { body } = await api.ask('GET', `${path}/history`);
    expect(changes(body as { items: Change[] }).map(({ action, version }) => [action, version])).toEqual([
      ['rule.reverted', 4],
      ['rule.deleted', null],
      ['rule.reverted', 3],
      ['rule.replaced', 2],
      ['rule.created', 1],
    ]);
    // The same once more: a name that somebody else has taken meanwhile is refused.
    await api.ask('DELETE', path, undefined, { 'if-match': '"4"' });
    const other = await api.ask('POST', rules, ruleBody());
    expect((await api.ask('POST', `${path}/revert`, { version: 2 }, { 'if-match': '*' })).status).toBe(409);
    await api.ask('DELETE', other.headers.get('location') ?? '', undefined, { 'if-match': '*' });
  });

  it.each([
    [{ version: 99 }, 400, '/version'],
    [{ version: 0 }, 400, '/version'],
    [{ version: '1' }, 400, '/version'],
    [{}, 400, '/version'],
    [{ version: 1, force: true }, 400, '/force'],
  ])('answers a revert to %j with %i and names the field', async (body, status, pointer) => {
    const answer = await api.ask('POST', `${path}/revert`, body, { 'if-match': '*' });
    expect(answer.status).toBe(status);
    expect((answer.body as { errors: { pointer: string }[] }).errors.map((error) => error.pointer)).toEqual([pointer]);
  });

  it('that never was has no history', async () => {
    expect((await api.ask('GET', `${rules}/999999/history`)).status).toBe(404);
    expect((await api.ask('POST', `${rules}/999999/revert`, { version: 1 }, { 'if-match': '*' })).status).toBe(404);
  });
});

describe('the audit', () => {
  it('is read page by page, each change once, and filtered', async () => {
    const ids: number[] = [];
    let next: string | null = '';
    while (next !== null) {
      const { body } = await api.ask('GET', `/v1/audit?limit=3${next && `&cursor=${next}`}`);
      const page = body as { items: { id: string }[]; nextCursor: string | null };
      ids.push(...page.items.map(({ id }) => Number(id)));
      next = page.nextCursor;
    }
    expect(ids).toEqual(Array.from({ length: ids.length }, (_, i) => ids.length - i));
    const count = async (query: string) =>
      ((await api.ask('GET', `/v1/audit?limit=200&${query}`)).body as { items: unknown[] }).items.length;
    expect(await count('actor=admin')).toBe(ids.length);
    expect(await count('actor=nobody')).toBe(0);
    const ofAcme = await count('merchant=acme');
    expect(ofAcme).toBeGreaterThan(1);
    expect(ofAcme).toBeLessThan(ids.length);
    expect(await count('since=2100-01-01T00:00:00Z')).toBe(0);
    expect(await count('until=2100-01-01T00:00:00%2B02:00')).toBe(ids.length);
  });

  it.each(['since=yesterday', 'since=2026-11-22T10:00:00', 'actor=', 'merchant=', 'cursor=WzFd', 'color=red'])(
    'refuses the query %s',
    async (query) => {
      const answer = await api.ask('GET', `/v1/audit?${query}`);
      expect(answer.status).toBe(400);
      expect((answer.body as { errors: { parameter: string }[] }).errors[0]?.parameter).toBe(query.split('=')[0]);
    },
  );

  it('says why, in the words of the administrator', async () => {
    const { body } = await api.ask('GET', '/v1/merchants/acme/history');
    expect((body as { items: { action: string; reason: string }[] }).items).toMatchObject([
      { action: 'merchant.created', reason: 'neuer Kunde, Müller' },
    ]);
    expect((await api.ask('GET', '/v1/merchants/nobody/history')).status).toBe(404);
  });

  it.each(['x'.repeat(501), 'a\tb'])('refuses a reason that is no short text', async (reason) => {
    expect((await api.ask('POST', '/v1/merchants', { id: 'other', name: 'x' }, { 'x-change-reason': reason })).status).toBe(400);
  });
});

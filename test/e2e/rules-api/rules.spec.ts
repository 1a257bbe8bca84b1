import { BUSY } from '../../support/patience.mjs';
import { ruleBody } from '../../support/factories/rules.js';
import { ADMIN_TOKEN } from '../../support/processes.js';
import { type Api, emptyRulesApi } from './api.js';

const LIMIT = { name: 'burst', algorithm: 'token_bucket', capacity: 10, refillTokens: 5, refillIntervalMs: 1_000 };

const DEFAULTS = {
  note: '',
  labels: {},
  layer: 'merchant',
  priority: 100,
  enabled: true,
  mode: 'enforce',
  match: { methods: [], paths: [] },
  key: ['merchant'],
  cost: 1,
  onStoreFailure: 'local',
  penalty: null,
  consistency: 'exact',
};

describe.each(['/v1/merchants/acme%2F1/rules', '/v1/default-rules'])('rules at %s', (rules) => {
  let api: Api;
  beforeAll(async () => {
    api = await emptyRulesApi();
    await api.ask('POST', '/v1/merchants', { id: 'acme/1', name: 'Acme' });
  });

  it('are created with every default, read, replaced and deleted', async () => {
    const created = await api.ask('POST', rules, ruleBody());
    expect(created.status).toBe(201);
    const { id } = created.body as { id: string };
    expect(created.headers.get('location')).toBe(`${rules}/${id}`);
    expect(created.headers.get('etag')).toBe('"1"');
    const limit = {
      name: 'burst',
      algorithm: 'token_bucket',
      capacity: 10,
      refillTokens: 5,
      refillIntervalMs: 1_000,
      refill: 'greedy',
      onEdit: 'as_is',
      throttle: 'hard',
    };
    expect(created.body).toEqual({
      id,
      name: 'card payments',
      ...DEFAULTS,
      limits: [limit],
      version: 1,
      createdAt: expect.any(String) as string,
      updatedAt: expect.any(String) as string,
    });

    const read = await api.ask('GET', `${rules}/${id}`);
    expect([read.status, read.headers.get('etag'), read.body]).toEqual([200, '"1"', created.body]);

    const full = {
      name: 'renamed',
      layer: 'platform',
      priority: 7,
      enabled: false,
      mode: 'shadow',
      match: { methods: ['POST', 'PUT'], paths: ['/transactions/**', '/pay-*'] },
      key: ['merchant', 'ip'],
      limits: [
        { ...limit, capacity: 20, initialTokens: 30 },
        { ...limit, name: 'daily', refill: 'interval' },
      ],
      cost: 3,
      onStoreFailure: 'closed',
    };
    const replaced = await api.ask('PUT', `${rules}/${id}`, full, { 'if-match': '"1"' });
    expect([replaced.status, replaced.headers.get('etag')]).toEqual([200, '"2"']);
    expect(replaced.body).toMatchObject({ id, ...full, version: 2 });

    // What a PUT leaves out is the default again, not what was there.
    const reset = await api.ask('PUT', `${rules}/${id}`, ruleBody(), { 'if-match': '"2"' });
    expect(reset.body).toMatchObject({ id, name: 'card payments', ...DEFAULTS, limits: [limit], version: 3 });
    expect(reset.body.limits[0]).toEqual(limit);

    expect((await api.ask('DELETE', `${rules}/${id}`, undefined, { 'if-match': '"3"' })).status).toBe(204);
    expect((await api.ask('GET', `${rules}/${id}`)).status).toBe(404);
  });

  it('need If-Match: missing 428, stale 412', async () => {
    const { body } = await api.ask('POST', rules, ruleBody({ name: 'guarded' }));
    const path = `${rules}/${(body as { id: string }).id}`;
    for (const [tag, status] of [
      [undefined, 428],
      ['"9"', 412],
    ] as const) {
      expect((await api.ask('PUT', path, ruleBody(), { 'if-match': tag })).status).toBe(status);
      expect((await api.ask('DELETE', path, undefined, { 'if-match': tag })).status).toBe(status);
    }
    expect((await api.ask('PUT', path, ruleBody({ name: 'guarded' }), { 'if-match': '*' })).headers.get('etag')).toBe('"2"');
    await api.ask('DELETE', path, undefined, { 'if-match': '*' });
  });

  it('take only one of many simultaneous replacements of one version', async () => {
    const { body } = await api.ask('POST', rules, ruleBody({ name: 'contended' }));
    const path = `${rules}/${(body as { id: string }).id}`;
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) => api.ask('PUT', path, ruleBody({ name: 'contended', priority: i }), { 'if-match': '"1"' })),
    );
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    // On a busy machine those that wait for the row may wait too long, which is 503: nothing was replaced.
    const expected = BUSY ? [200, 412, 503] : [200, 412];
    expect(statuses.filter((status) => !expected.includes(status))).toEqual([]);
    await api.ask('DELETE', path, undefined, { 'if-match': '*' });
  });

  it('have a name of their own: 409 points at it', async () => {
    await api.ask('POST', rules, ruleBody({ name: 'one' }));
    const two = await api.ask('POST', rules, ruleBody({ name: 'two' }));
    const taken = { status: 409, errors: [{ pointer: '/name', code: 'rule.name.taken', detail: 'is taken' }] };
    expect((await api.ask('POST', rules, ruleBody({ name: 'one' }))).body).toMatchObject(taken);
    expect((await api.ask('PUT', `${rules}/${two.body.id}`, ruleBody({ name: 'one' }), { 'if-match': '*' })).body).toMatchObject(taken);
  });

  it.each(['abc', '0', '-1', '1.5', '01', '1e3', '9223372036854775808', '99999999999999999999', '424242', '%F0%9F%99%82'])(
    'are not found under the id %s',
    async (id) => {
      expect((await api.ask('GET', `${rules}/${id}`)).status).toBe(404);
      expect((await api.ask('PUT', `${rules}/${id}`, ruleBody(), { 'if-match': '*' })).status).toBe(404);
      expect((await api.ask('DELETE', `${rules}/${id}`, undefined, { 'if-match': '*' })).status).toBe(404);
    },
  );

  it('are listed by priority, the older first, page by page', async () => {
    for (const [index, priority] of [5, 900_000, 5, 0].entries())
      await api.ask('POST', rules, ruleBody({ name: `list ${index}`, priority }));
    const seen: { name: string; priority: number }[] = [];
    let query = '?limit=2';
    for (;;) {
      const { body } = await api.ask('GET', rules + query);
      seen.push(...(body.items as { name: string; priority: number }[]));
      if (body.nextCursor === null) break;
      query = `?limit=2&cursor=${body.nextCursor}`;
    }
    const listed = seen.map(({ name }) => name).filter((name) => name.startsWith('list'));
    expect(listed).toEqual(['list 1', 'list 0', 'list 2', 'list 3']);
    const priorities = seen.map(({ priority }) => priority);
    expect(priorities).toEqual([...priorities].sort((a, b) => b - a));
  });

  it.each([
    'bad',
    Buffer.from('["rules",1]').toString('base64url'),
    Buffer.from('["rules",1e99,"1"]').toString('base64url'),
    Buffer.from('["rules",1,"x"]').toString('base64url'),
    Buffer.from('["merchants","a"]').toString('base64url'),
  ])('are refused for the cursor %s', async (cursor) => {
    const { status, body } = await api.ask('GET', `${rules}?cursor=${cursor}`);
    expect([status, body.errors]).toEqual([
      400,
      [{ parameter: 'cursor', code: 'query.cursor.malformed', detail: 'must be the nextCursor of a page of this list' }],
    ]);
  });
});

describe('rules of a merchant', () => {
  let api: Api;
  beforeAll(async () => {
    api = await emptyRulesApi();
    for (const id of ['one', 'other']) await api.ask('POST', '/v1/merchants', { id, name: id });
  });

  it('need the merchant', async () => {
    const path = '/v1/merchants/nobody/rules';
    const answers = [
      await api.ask('POST', path, ruleBody()),
      await api.ask('GET', path),
      await api.ask('GET', `${path}/1`),
      await api.ask('PUT', `${path}/1`, ruleBody(), { 'if-match': '*' }),
      await api.ask('DELETE', `${path}/1`, undefined, { 'if-match': '*' }),
    ];
    for (const { status, body } of answers) expect([status, body.detail]).toEqual([404, 'there is no merchant "nobody"']);
  });

  it('are not reached through another merchant, nor as default rules', async () => {
    const { body } = await api.ask('POST', '/v1/merchants/one/rules', ruleBody());
    for (const path of [`/v1/merchants/other/rules/${body.id}`, `/v1/default-rules/${body.id}`]) {
      expect((await api.ask('GET', path)).status).toBe(404);
      expect((await api.ask('PUT', path, ruleBody(), { 'if-match': '*' })).status).toBe(404);
      expect((await api.ask('DELETE', path, undefined, { 'if-match': '*' })).status).toBe(404);
    }
  });

  it('go with the merchant', async () => {
    await api.ask('POST', '/v1/merchants', { id: 'leaving', name: 'x' });
    const { headers } = await api.ask('POST', '/v1/merchants/leaving/rules', ruleBody());
    await api.ask('DELETE', '/v1/merchants/leaving', undefined, { 'if-match': '*' });
    expect((await api.ask('GET', headers.get('location') ?? '')).status).toBe(404);
    await api.ask('POST', '/v1/merchants', { id: 'leaving', name: 'x' });
    expect((await api.ask('GET', '/v1/merchants/leaving/rules')).body.items).toEqual([]);
  });

  it('are at most 100', async () => {
    await api.ask('POST', '/v1/merchants', { id: 'full', name: 'x' });
    // Few at once: each waits for the row of the merchant, for three seconds at most.
    for (let start = 0; start < 100; start += 4) {
      const answers = await Promise.all(
        Array.from({ length: 4 }, (_, i) => api.ask('POST', '/v1/merchants/full/rules', ruleBody({ name: `rule ${start + i}` }))),
      );
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    }
    const { status, body } = await api.ask('POST', '/v1/merchants/full/rules', ruleBody({ name: 'one too many' }));
    expect([status, body.detail]).toEqual([409, 'there may be at most 100 rules here']);
    expect((await api.ask('GET', '/v1/merchants/full/rules?limit=200')).body.items).toHaveLength(100);
  });
});

describe('a rule that is probably a mistake', () => {
  const wide = ruleBody({ name: 'wide', priority: 500 });
  const shadowed = [{ code: 'rule.shadowed', pointer: '/priority', detail: expect.stringContaining('"wide", priority 500') as string }];
  let api: Api;
  const rules = '/v1/merchants/careful/rules';
  beforeAll(async () => {
    api = await emptyRulesApi();
    await api.ask('POST', '/v1/merchants', { id: 'careful', name: 'x' });
    expect((await api.ask('POST', rules, wide)).body).not.toHaveProperty('warnings');
  });

  it('is written with warnings, by each call that writes, and what was answered can be sent back', async () => {
    const created = await api.ask('POST', rules, ruleBody({ name: 'narrow' }));
    expect([created.status, created.body.warnings]).toEqual([201, shadowed]);
    const path = `${rules}/${created.body.id}`;
    expect((await api.ask('GET', path)).body).toEqual(created.body);
    const replaced = await api.ask('PUT', path, created.body, { 'if-match': '"1"' });
    expect([replaced.status, replaced.body.warnings]).toEqual([200, shadowed]);
    const patched = await api.ask('PATCH', path, { cost: 2 }, { 'if-match': '"2"' });
    expect([patched.status, patched.body.warnings]).toEqual([200, shadowed]);
    expect((await api.ask('PATCH', path, { priority: 501 }, { 'if-match': '*' })).body.warnings).toMatchObject([{ code: 'rule.shadows' }]);
    expect((await api.ask('PATCH', path, { match: { methods: ['PUT'] } }, { 'if-match': '*' })).body).not.toHaveProperty('warnings');
    expect((await api.ask('GET', path)).body).not.toHaveProperty('warnings');
    await api.ask('DELETE', path, undefined, { 'if-match': '*' });
  });

  it('is refused where strict=true asks for it, and nothing is written', async () => {
    const before = (await api.ask('GET', rules)).body;
    const { status, body } = await api.ask('POST', `${rules}?strict=true`, ruleBody({ name: 'narrow' }));
    expect([status, body.code, body.errors]).toEqual([400, 'rule.warnings', shadowed]);
    const repeated = { priority: 500, match: { paths: [] } };
    expect((await api.ask('PATCH', `${rules}/${before.items[0].id}?strict=true`, repeated, { 'if-match': '*' })).status).toBe(200);
    expect(
      (await api.ask('POST', '/v1/default-rules?strict=true', ruleBody({ limits: [{ ...LIMIT, capacity: 2 }] }))).body.errors,
    ).toMatchObject([{ code: 'limit.capacity.below_refill', pointer: '/limits/0/capacity' }]);
    expect((await api.ask('GET', rules)).body.items).toHaveLength(before.items.length);
    expect((await api.ask('GET', '/v1/default-rules')).body.items).toEqual([]);
    expect((await api.ask('POST', `${rules}?strict=yes`, ruleBody())).body).toMatchObject({ errors: [{ parameter: 'strict' }] });
  });

  it.each([
    [{ match: { paths: ['/users/{id}'] } }, '/match/paths/0', 'rule.match.paths.never_matches'],
    [{ match: { methods: ['PSOT'] } }, '/match/methods/0', 'rule.match.methods.not_one_of'],
    [{ cost: 11 }, '/cost', 'rule.cost.exceeds_capacity'],
  ])('is refused at once if it would do harm: %j', async (changes, pointer, code) => {
    const body = ruleBody({ name: 'harmful', ...changes });
    expect((await api.ask('POST', rules, body)).body).toMatchObject({ status: 400, errors: [{ pointer, code }] });
    const document = { version: 1, merchants: [], defaultRules: [body] };
    expect((await api.ask('POST', '/v1/apply', document)).body).toMatchObject({
      status: 400,
      errors: [{ pointer: `/defaultRules/0${pointer}`, code }],
    });
  });

  it('is tried before it is written: what it would shadow, and whom it would refuse', async () => {
    const sample = `at,method,path\n${'2026-11-22T10:00:00Z,GET,/a\n'.repeat(12)}`;
    const draft = ruleBody({ name: 'draft', priority: 600, limits: [{ ...LIMIT, capacity: 5 }] });
    const { status, body } = await api.ask('POST', '/v1/rules/preview', { merchantId: 'careful', rule: draft, sample });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      shadows: [{ name: 'wide', source: 'merchant' }],
      shadowedBy: [],
      warnings: [{ code: 'rule.shadows' }],
      replay: {
        requests: 12,
        refusedNow: 2,
        refusedThen: 7,
        truncated: false,
        byRule: [{ ruleId: null, name: 'draft' }, { name: 'wide' }],
      },
    });
    const ruleId = body.shadows[0].ruleId as string;
    const answer = await fetch(`${api.app.url}/v1/rules/preview`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json', accept: 'application/x-ndjson' },
      body: JSON.stringify({ merchantId: 'careful', ruleId, rule: draft, sample }),
    });
    expect(answer.headers.get('content-type')).toBe('application/x-ndjson');
    const lines = (await answer.text()).trim().split('\n');
    expect(JSON.parse(lines[0]!)).toEqual({ progress: { replayed: 0, of: 12 } });
    expect(JSON.parse(lines.at(-1)!)).toMatchObject({
      result: { shadows: [], replay: { refusedNow: 2, refusedThen: 7, byRule: [{ ruleId }] } },
    });
    expect((await api.ask('GET', rules)).body.items).toHaveLength(1);
  });

  it.each([
    [{ sample: 'recorder' }, 400, '/sample', 'preview.sample.malformed'],
    [{ sample: 'at,method,path\nnoon,GET,/\n' }, 400, '/sample', 'preview.sample.malformed'],
    [{ rule: ruleBody({ key: ['ip'] }), sample: 'at,method,path\n1,GET,/\n' }, 400, '/sample', 'preview.sample.lacks_ip'],
    [{ rule: ruleBody({ cost: 11 }) }, 400, '/rule/cost', 'rule.cost.exceeds_capacity'],
    [{ rule: ruleBody({ cost: 0 }) }, 400, '/rule/cost', 'preview.rule.cost.out_of_range'],
  ])('is not tried if %j', async (changes, status, pointer, code) => {
    const { body } = await api.ask('POST', '/v1/rules/preview', { merchantId: 'careful', rule: ruleBody(), ...changes });
    expect(body).toMatchObject({ status, errors: [{ pointer, code }] });
  });

  it('of a merchant or a rule that does not exist nothing is tried', async () => {
    expect((await api.ask('POST', '/v1/rules/preview', { merchantId: 'nobody', rule: ruleBody() })).status).toBe(404);
    expect((await api.ask('POST', '/v1/rules/preview', { merchantId: 'careful', ruleId: '999999', rule: ruleBody() })).status).toBe(404);
  });
});

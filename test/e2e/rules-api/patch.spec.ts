import { ruleBody } from '../../support/factories/rules.js';
import { type Api, emptyRulesApi } from './api.js';

const MERGE_PATCH = { 'content-type': 'application/merge-patch+json' };
const ANY = { 'if-match': '*' };

describe.each(['/v1/merchants/acme/rules', '/v1/default-rules'])('a rule at %s', (rules) => {
  let api: Api;
  let path: string;
  let rule: Record<string, unknown>;
  beforeAll(async () => {
    api = await emptyRulesApi();
    await api.ask('POST', '/v1/merchants', { id: 'acme', name: 'Acme' });
  });
  beforeEach(async () => {
    const created = await api.ask('POST', rules, {
      ...ruleBody({ name: `rule ${Math.random()}` }),
      priority: 7,
      match: { methods: ['POST'], paths: ['/a', '/b'] },
      penalty: { refusals: 3, windowMs: 1_000, blockMs: 1_000 },
    });
    path = created.headers.get('location')!;
    rule = created.body as Record<string, unknown>;
  });

  it.each(['application/merge-patch+json', 'application/json'])(
    'keeps by a patch of type %s what the patch does not name',
    async (type) => {
      const patched = await api.ask('PATCH', path, { cost: 3 }, { 'if-match': '"1"', 'content-type': type });
      expect([patched.status, patched.headers.get('etag')]).toEqual([200, '"2"']);
      expect(patched.body).toEqual({ ...rule, cost: 3, version: 2, updatedAt: expect.any(String) as string });
      expect((await api.ask('GET', path)).body).toEqual(patched.body);
    },
  );

  it('is patched inside of objects, and its lists are replaced as a whole', async () => {
    const limit = { name: 'a day', algorithm: 'fixed_window', limit: 5, calendar: 'day' };
    const patch = { match: { paths: ['/c'] }, penalty: { refusals: 9 }, limits: [limit] };
    const { body } = await api.ask('PATCH', path, patch, { ...ANY, ...MERGE_PATCH });
    expect(body).toMatchObject({
      match: { methods: ['POST'], paths: ['/c'] },
      penalty: { refusals: 9, windowMs: 1_000, blockMs: 1_000 },
      limits: [limit],
    });
    expect((body as { limits: unknown[] }).limits).toHaveLength(1);
  });

  it('gets by null the default of a field back', async () => {
    const { body } = await api.ask('PATCH', path, { priority: null, match: { paths: null }, penalty: null }, { ...ANY, ...MERGE_PATCH });
    expect(body).toMatchObject({ priority: 100, match: { methods: ['POST'], paths: [] }, penalty: null });
  });

  it.each([
    [{ name: null }, '/name', 'rule.name.missing'],
    [{ limits: [] }, '/limits', 'rule.limits.wrong_length'],
    [{ limits: [{ name: 'burst', capacity: 1 }] }, '/limits/0/algorithm', 'limit.algorithm.missing'],
    [{ prioritty: 5 }, '/prioritty', 'rule.unknown_field'],
    [{ prioritty: null }, '/prioritty', 'rule.unknown_field'],
    [{ match: { methodz: null } }, '/match/methodz', 'rule.match.unknown_field'],
    [{ penalty: { refusals: 0 } }, '/penalty/refusals', 'rule.penalty.refusals.out_of_range'],
    [{ match: [] }, '/match', 'rule.match.wrong_type'],
  ])('is not changed by the patch %j: the result is checked as a whole', async (patch, pointer, code) => {
    const { status, body } = await api.ask('PATCH', path, patch, { ...ANY, ...MERGE_PATCH });
    expect([status, body.errors]).toEqual([400, [{ pointer, code, detail: expect.any(String) as string }]]);
    expect((await api.ask('GET', path)).body).toEqual(rule);
  });

  it('is not changed by a patch that is no object', async () => {
    for (const patch of ['[]', '5', 'null', '"text"', undefined]) {
      const { status, body } = await api.ask('PATCH', path, patch, { ...ANY, ...MERGE_PATCH });
      expect([patch, status, body.code]).toEqual([patch, 400, patch === undefined ? 'body.missing' : 'body.wrong_type']);
    }
  });

  it('needs If-Match for a patch: missing 428, stale 412', async () => {
    expect((await api.ask('PATCH', path, { cost: 3 }, { 'if-match': undefined })).status).toBe(428);
    expect((await api.ask('PATCH', path, { cost: 3 }, { 'if-match': '"9"' })).status).toBe(412);
    expect((await api.ask('GET', path)).body).toEqual(rule);
  });

  it('loses none of several patches that come at once', async () => {
    const patches = [{ cost: 3 }, { priority: 8 }, { mode: 'shadow' }];
    const answers = await Promise.all(patches.map((patch) => api.ask('PATCH', path, patch, ANY)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect((await api.ask('GET', path)).body).toMatchObject({ cost: 3, priority: 8, mode: 'shadow', version: 4 });
  });

  it('keeps its name to itself: a patch to a name that is in use is 409', async () => {
    const other = await api.ask('POST', rules, ruleBody({ name: `other ${Math.random()}` }));
    const { status, body } = await api.ask('PATCH', path, { name: other.body.name as string }, ANY);
    expect([status, body.code]).toEqual([409, 'rule.name.taken']);
  });

  it('can be sent back as it was read, by PUT and by PATCH; what the server sets is ignored', async () => {
    for (const method of ['PUT', 'PATCH']) {
      const { body: read, headers } = await api.ask('GET', path);
      const written = await api.ask(method, path, { ...(read as object), cost: 5 }, { 'if-match': headers.get('etag')! });
      expect([method, written.status]).toEqual([method, 200]);
      const version = (read as { version: number }).version + 1;
      expect(written.body).toEqual({ ...(read as object), cost: 5, version, updatedAt: expect.any(String) as string });
    }
    const lies = { id: '1', version: 99, createdAt: '2000-01-01T00:00:00Z' };
    const { body } = await api.ask('PUT', path, { ...rule, ...lies }, ANY);
    expect(body).toMatchObject({ id: rule['id'], version: 4, createdAt: rule['createdAt'] });
    expect((await api.ask('PUT', path, { ...rule, version: 'x' }, ANY)).status).toBe(400);
  });

  it.each<[string, string | undefined, Record<string, string>]>([
    ['a content type and no body', undefined, { 'content-type': 'application/json' }],
    ['plain text', 'bye', { 'content-type': 'text/plain' }],
    ['a form', 'a=b', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['broken JSON', '{', { 'content-type': 'application/json' }],
    ['a content type that is none', 'x', { 'content-type': 'json' }],
    ['100 KB', 'x'.repeat(100_000), { 'content-type': 'application/octet-stream' }],
  ])('is deleted by a request with %s', async (_what, body, headers) => {
    expect((await api.ask('DELETE', path, body, { ...ANY, ...headers })).status).toBe(204);
    expect((await api.ask('GET', path)).status).toBe(404);
  });
});

describe('a merge patch', () => {
  let api: Api;
  beforeAll(async () => {
    api = await emptyRulesApi();
  });

  it('is taken by PATCH of a merchant too', async () => {
    await api.ask('POST', '/v1/merchants', { id: 'acme', name: 'Acme' });
    const { status, body } = await api.ask('PATCH', '/v1/merchants/acme', { name: 'Acme Ltd' }, { ...ANY, ...MERGE_PATCH });
    expect([status, body.name]).toEqual([200, 'Acme Ltd']);
  });

  it('is 415 for other methods', async () => {
    const { status, body } = await api.ask('POST', '/v1/default-rules', ruleBody(), MERGE_PATCH);
    expect([status, body.code]).toEqual([415, 'body.wrong_media_type']);
  });
});

import { type Api, startRulesApi } from './api.js';

describe('merchants', () => {
  let api: Api;
  beforeAll(async () => {
    api = await startRulesApi();
  });
  afterAll(() => api.close());

  it('are created, read, changed and deleted', async () => {
    const created = await api.ask('POST', '/v1/merchants', { id: 'acme', name: 'Acme', timeZone: 'Europe/Berlin' });
    expect(created.status).toBe(201);
    expect(created.headers.get('location')).toBe('/v1/merchants/acme');
    expect(created.headers.get('etag')).toBe('"1"');
    expect(created.body).toEqual({
      id: 'acme',
      name: 'Acme',
      timeZone: 'Europe/Berlin',
      labels: {},
      version: 1,
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/) as string,
      updatedAt: expect.stringMatching(/^\d{4}-.*Z$/) as string,
    });

    const read = await api.ask('GET', '/v1/merchants/acme');
    expect([read.status, read.headers.get('etag'), read.body]).toEqual([200, '"1"', created.body]);

    const changed = await api.ask('PATCH', '/v1/merchants/acme', { name: 'Acme Ltd' }, { 'if-match': '"1"' });
    expect([changed.status, changed.headers.get('etag')]).toEqual([200, '"2"']);
    expect(changed.body).toMatchObject({ name: 'Acme Ltd', timeZone: 'Europe/Berlin', version: 2 });

    const deleted = await api.ask('DELETE', '/v1/merchants/acme', undefined, { 'if-match': '"2"' });
    expect([deleted.status, deleted.body]).toEqual([204, undefined]);
    expect((await api.ask('GET', '/v1/merchants/acme')).status).toBe(404);
    const again = await api.ask('DELETE', '/v1/merchants/acme', undefined, { 'if-match': '*' });
    expect(again.status).toBe(404);
  });

  it('have UTC as time zone unless they say otherwise', async () => {
    expect((await api.ask('POST', '/v1/merchants', { id: 'utc', name: 'x' })).body).toMatchObject({ timeZone: 'UTC' });
  });

  it('have an id of their own: 409 points at it', async () => {
    await api.ask('POST', '/v1/merchants', { id: 'twice', name: 'x' });
    const { status, headers, body } = await api.ask('POST', '/v1/merchants', { id: 'twice', name: 'x' });
    expect(status).toBe(409);
    expect(headers.get('content-type')).toBe('application/problem+json');
    expect(body).toEqual({
      type: 'http://127.0.0.1:3000/problems/conflict',
      code: 'merchant.id.taken',
      title: 'Conflict',
      status: 409,
      detail: 'there already is a merchant "twice"',
      instance: '/v1/merchants',
      errors: [{ pointer: '/id', code: 'merchant.id.taken', detail: 'is taken' }],
    });
  });

  it.each([
    'a/b',
    'a:b',
    '{a}',
    'a b',
    "o'hara",
    'say "hi"',
    '🙂',
    '%41',
    '%2F',
    'a?b#c',
    'ä',
    '-',
    '*',
    'x'.repeat(128),
    '日'.repeat(128),
  ])('may be called %s', async (id) => {
    const created = await api.ask('POST', '/v1/merchants', { id, name: 'x' });
    expect(created.status).toBe(201);
    const location = created.headers.get('location') ?? '';
    expect((await api.ask('GET', location)).body).toMatchObject({ id });
    expect((await api.ask('GET', `${location}/rules`)).body).toEqual({ items: [], nextCursor: null });
    expect((await api.ask('DELETE', location, undefined, { 'if-match': '"1"' })).status).toBe(204);
  });

  it.each(['%00', '%0A', '%20x', 'x'.repeat(129), '%C3%A4'.repeat(129)])('are not found under %s, which is no id', async (id) => {
    expect((await api.ask('GET', `/v1/merchants/${id}`)).status).toBe(404);
  });

  it('are not found by a path that is not UTF-8', async () => {
    const { status, headers } = await api.ask('GET', '/v1/merchants/%ff');
    expect(status).toBe(400);
    expect(headers.get('content-type')).toBe('application/problem+json');
  });

  describe('changed with If-Match', () => {
    beforeAll(async () => {
      await api.ask('POST', '/v1/merchants', { id: 'tagged', name: 'x' });
      await api.ask('PATCH', '/v1/merchants/tagged', { name: 'y' }, { 'if-match': '"1"' });
    });

    it.each<[string, string | undefined, number]>([
      ['is missing', undefined, 428],
      ['is stale', '"1"', 412],
      ['is ahead', '"3"', 412],
      ['is weak', 'W/"2"', 412],
      ['is foreign', '"abc"', 412],
      ['is a number with zeros', '"02"', 412],
      ['is a bare number', '2', 400],
      ['is empty', '', 400],
      ['is half a tag', '"2', 400],
      ['mixes * with a tag', '*, "2"', 400],
    ])('refused when it %s', async (_name, tag, status) => {
      for (const [method, body] of [
        ['PATCH', { name: 'z' }],
        ['DELETE', undefined],
      ] as const) {
        const answer = await api.ask(method, '/v1/merchants/tagged', body, { 'if-match': tag });
        expect([method, answer.status, answer.headers.get('content-type')]).toEqual([method, status, 'application/problem+json']);
        if (status === 412) expect(answer.headers.get('etag')).toBe('"2"');
      }
      expect((await api.ask('GET', '/v1/merchants/tagged')).body).toMatchObject({ name: 'y', version: 2 });
    });

    it('accepted when one of several tags fits, or when it takes anything', async () => {
      const several = await api.ask('PATCH', '/v1/merchants/tagged', { name: 'z' }, { 'if-match': '"1", W/"7", "2"' });
      expect([several.status, several.headers.get('etag')]).toEqual([200, '"3"']);
      const any = await api.ask('PATCH', '/v1/merchants/tagged', { timeZone: 'Asia/Tokyo' }, { 'if-match': '*' });
      expect(any.body).toMatchObject({ name: 'z', timeZone: 'Asia/Tokyo', version: 4 });
    });

    it('not fooled by a merchant that was deleted and created again', async () => {
      const before = await api.ask('POST', '/v1/merchants', { id: 'phoenix', name: 'x' });
      await api.ask('DELETE', '/v1/merchants/phoenix', undefined, { 'if-match': '*' });
      const after = await api.ask('POST', '/v1/merchants', { id: 'phoenix', name: 'x' });
      expect(after.headers.get('etag')).not.toBe(before.headers.get('etag'));
      const stale = await api.ask('PATCH', '/v1/merchants/phoenix', { name: 'y' }, { 'if-match': before.headers.get('etag') ?? '' });
      expect(stale.status).toBe(412);
    });
  });

  it('take only one of many simultaneous changes of one version', async () => {
    await api.ask('POST', '/v1/merchants', { id: 'contended', name: 'x' });
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) => api.ask('PATCH', '/v1/merchants/contended', { name: `n${i}` }, { 'if-match': '"1"' })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 9 }, () => 412)]);
  });

  describe('in a list', () => {
    const ids = Array.from({ length: 7 }, (_, i) => `list-${i}`);
    beforeAll(async () => {
      for (const id of ids) await api.ask('POST', '/v1/merchants', { id, name: 'x' });
    });

    it('come page by page, each once', async () => {
      const seen: string[] = [];
      let cursor: string | null = null;
      do {
        const path: string = cursor === null ? '/v1/merchants?limit=3' : `/v1/merchants?limit=3&cursor=${cursor}`;
        const { status, body } = await api.ask('GET', path);
        expect(status).toBe(200);
        expect(body.items.length).toBeLessThanOrEqual(3);
        seen.push(...body.items.map(({ id }: { id: string }) => id));
        cursor = body.nextCursor;
      } while (cursor !== null);
      expect(seen.filter((id) => id.startsWith('list-'))).toEqual(ids);
      expect(new Set(seen).size).toBe(seen.length);
    });

    it.each([
      ['limit=0', 'limit', 'must be a whole number from 1 to 200, got "0"'],
      ['limit=201', 'limit', 'must be a whole number from 1 to 200, got "201"'],
      ['limit=-1', 'limit', 'must be a whole number from 1 to 200, got "-1"'],
      ['limit=1.5', 'limit', 'must be a whole number from 1 to 200, got "1.5"'],
      ['limit=ten', 'limit', 'must be a whole number from 1 to 200, got "ten"'],
      ['limit=', 'limit', 'must be a whole number from 1 to 200, got ""'],
      ['limit=1&limit=2', 'limit', 'must be a whole number from 1 to 200, got ["1","2"]'],
      ['cursor=nonsense', 'cursor', 'must be the nextCursor of a page of this list'],
      ['cursor=', 'cursor', 'must be the nextCursor of a page of this list, got ""'],
      ['cursor=%00', 'cursor', 'must be the nextCursor of a page of this list, got "\\u0000"'],
      [`cursor=${Buffer.from('["rules",1,"1"]').toString('base64url')}`, 'cursor', 'must be the nextCursor of a page of this list'],
      [`cursor=${Buffer.from('["merchants",{"a":1}]').toString('base64url')}`, 'cursor', 'must be the nextCursor of a page of this list'],
      ['page=2', 'page', 'is not known here; limit, cursor, name and label are'],
    ])('are refused for ?%s', async (query, parameter, detail) => {
      const { status, body } = await api.ask('GET', `/v1/merchants?${query}`);
      expect(status).toBe(400);
      expect(body.errors).toEqual([{ parameter, code: expect.stringMatching(/^query\./) as string, detail }]);
    });
  });
});

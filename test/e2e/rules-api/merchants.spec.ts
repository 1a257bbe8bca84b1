import { ruleBody } from '../../support/factories/rules.js';
import { type Api, emptyRulesApi } from './api.js';

describe('merchants', () => {
  let api: Api;
  beforeAll(async () => {
    api = await emptyRulesApi();
  });

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
      plan: null,
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
      ['page=2', 'page', 'is not known here; limit, cursor, name, label and plan are'],
    ])('are refused for ?%s', async (query, parameter, detail) => {
      const { status, body } = await api.ask('GET', `/v1/merchants?${query}`);
      expect(status).toBe(400);
      expect(body.errors).toEqual([{ parameter, code: expect.stringMatching(/^query\./) as string, detail }]);
    });
  });

  describe('and plans', () => {
    const rule = (name: string, capacity: number) => ruleBody({ name, limits: [{ ...LIMIT, capacity }] });
    const LIMIT = { name: 'burst', algorithm: 'token_bucket', refillTokens: 1, refillIntervalMs: 1_000 };

    it('a plan is created, read, replaced and deleted; what is read can be sent back', async () => {
      const created = await api.ask('PUT', '/v1/plans/free', { note: 'for everybody' });
      expect([created.status, created.headers.get('etag'), created.headers.get('location')]).toEqual([201, '"1"', '/v1/plans/free']);
      expect(created.body).toMatchObject({ name: 'free', note: 'for everybody', labels: {}, version: 1 });
      const again = await api.ask('PUT', '/v1/plans/free', {});
      expect([again.status, again.body.code]).toEqual([428, 'if_match.missing']);
      const replaced = await api.ask('PUT', '/v1/plans/free', { ...created.body, labels: { team: 'sales' } }, { 'if-match': '"1"' });
      expect([replaced.status, replaced.headers.get('etag'), replaced.body.labels]).toEqual([200, '"2"', { team: 'sales' }]);
      const stale = await api.ask('PUT', '/v1/plans/free', {}, { 'if-match': '"1"' });
      expect([stale.status, stale.body.code, stale.headers.get('etag')]).toEqual([412, 'version.changed', '"2"']);
      expect((await api.ask('PUT', '/v1/plans/none', {}, { 'if-match': '*' })).body).toMatchObject({ status: 404, code: 'plan.not_found' });
      expect((await api.ask('PUT', '/v1/plans/No%20Name', {})).body).toMatchObject({ status: 400, code: 'plan.name.malformed' });
      expect((await api.ask('GET', '/v1/plans')).body).toMatchObject({ items: [{ name: 'free' }], nextCursor: null });
      expect((await api.ask('DELETE', '/v1/plans/free')).status).toBe(428);
      expect((await api.ask('DELETE', '/v1/plans/free', undefined, { 'if-match': '"2"' })).status).toBe(204);
      expect((await api.ask('GET', '/v1/plans/free')).status).toBe(404);
      const { items } = (await api.ask('GET', '/v1/plans/free/history')).body;
      expect(items.map(({ action, plan, merchantId }: Record<string, unknown>) => [action, plan, merchantId])).toEqual([
        ['plan.deleted', 'free', null],
        ['plan.replaced', 'free', null],
        ['plan.created', 'free', null],
      ]);
      expect(items[1].patch).toEqual([{ op: 'add', path: '/labels/team', value: 'sales' }]);
      expect((await api.ask('GET', '/v1/plans/nothing/history')).status).toBe(404);
    });

    it('a plan is changed by a merge patch, and what was written of it comes back by a revert', async () => {
      const plan = '/v1/plans/patched';
      await api.ask('PUT', plan, { note: 'first', labels: { team: 'sales', region: 'eu' } });
      const patched = await api.ask('PATCH', plan, { labels: { region: null } }, { 'if-match': '"1"' });
      expect([patched.status, patched.headers.get('etag')]).toEqual([200, '"2"']);
      expect(patched.body).toMatchObject({ note: 'first', labels: { team: 'sales' } });
      expect(patched.body.labels).not.toHaveProperty('region');
      expect((await api.ask('PATCH', plan, { note: 'x' }, { 'if-match': '"1"' })).status).toBe(412);
      expect((await api.ask('PATCH', plan, { nots: 'x' }, { 'if-match': '*' })).body.errors).toMatchObject([{ pointer: '/nots' }]);
      const reverted = await api.ask('POST', `${plan}/revert`, { version: 1 }, { 'if-match': '"2"' });
      expect([reverted.status, reverted.body.version, reverted.body.labels]).toEqual([200, 3, { team: 'sales', region: 'eu' }]);
      expect((await api.ask('GET', `${plan}/history?limit=1`)).body.items).toMatchObject([{ action: 'plan.reverted', version: 3 }]);
      expect((await api.ask('POST', `${plan}/revert`, { version: 9 }, { 'if-match': '*' })).body.errors).toMatchObject([
        { pointer: '/version', code: 'revert.version.out_of_range' },
      ]);
      expect((await api.ask('POST', '/v1/plans/nothing/revert', { version: 1 }, { 'if-match': '*' })).body.code).toBe('plan.not_found');
      await api.ask('DELETE', plan, undefined, { 'if-match': '*' });
    });

    it('a merchant takes what was read of it as a patch, and what was written of it comes back by a revert', async () => {
      const one = '/v1/merchants/reverted';
      await api.ask('PUT', '/v1/plans/brief', {});
      await api.ask('POST', '/v1/merchants', { id: 'reverted', name: 'First', labels: { region: 'eu' }, plan: 'brief' });
      const read = (await api.ask('GET', one)).body;
      const same = await api.ask('PATCH', one, { ...read, name: 'Second', labels: { region: null }, plan: null }, { 'if-match': '"1"' });
      expect([same.status, same.body]).toMatchObject([200, { id: 'reverted', name: 'Second', labels: {}, plan: null, version: 2 }]);
      const reverted = await api.ask('POST', `${one}/revert`, { version: 1 }, { 'if-match': '"2"', 'x-change-reason': 'a mistake' });
      expect([reverted.status, reverted.headers.get('etag')]).toEqual([200, '"3"']);
      expect(reverted.body).toMatchObject({
        name: 'First',
        labels: { region: 'eu' },
        plan: 'brief',
        version: 3,
        createdAt: read.createdAt,
      });
      expect((await api.ask('GET', `${one}/history?limit=1`)).body.items).toMatchObject([
        { action: 'merchant.reverted', version: 3, reason: 'a mistake' },
      ]);
      expect((await api.ask('POST', `${one}/revert`, { version: 1 }, { 'if-match': '"2"' })).status).toBe(412);
      expect((await api.ask('POST', `${one}/revert`, { version: 9 }, { 'if-match': '*' })).body.errors).toMatchObject([
        { code: 'revert.version.out_of_range' },
      ]);
      expect((await api.ask('POST', '/v1/merchants/nobody/revert', { version: 1 }, { 'if-match': '*' })).body.code).toBe(
        'merchant.not_found',
      );
      await api.ask('POST', `${one}/revert`, { version: 2 }, { 'if-match': '*' });
      await api.ask('DELETE', '/v1/plans/brief', undefined, { 'if-match': '*' });
      expect((await api.ask('POST', `${one}/revert`, { version: 1 }, { 'if-match': '*' })).body).toMatchObject({
        status: 409,
        code: 'merchant.version.unwritable',
      });
      await api.ask('DELETE', one, undefined, { 'if-match': '*' });
      expect((await api.ask('POST', `${one}/revert`, { version: 1 }, { 'if-match': '*' })).body.code).toBe('merchant.not_found');
    });

    it('plans come page by page, by name', async () => {
      for (const name of ['b', 'a', 'c']) await api.ask('PUT', `/v1/plans/${name}`, {});
      const first = (await api.ask('GET', '/v1/plans?limit=2')).body;
      expect(first.items.map(({ name }: { name: string }) => name)).toEqual(['a', 'b']);
      const second = (await api.ask('GET', `/v1/plans?limit=2&cursor=${first.nextCursor}`)).body;
      expect([second.items.map(({ name }: { name: string }) => name), second.nextCursor]).toEqual([['c'], null]);
    });

    it('a rule of a plan is written, changed, reverted and deleted like any other, and belongs to its plan alone', async () => {
      await api.ask('PUT', '/v1/plans/pro', {});
      const rules = '/v1/plans/pro/rules';
      const created = await api.ask('POST', rules, rule('payments', 10));
      expect([created.status, created.headers.get('etag')]).toEqual([201, '"1"']);
      const one = created.headers.get('location')!;
      expect(one).toBe(`${rules}/${created.body.id}`);
      expect((await api.ask('POST', rules, rule('payments', 10))).body.code).toBe('rule.name.taken');
      expect((await api.ask('POST', '/v1/default-rules', rule('payments', 10))).status).toBe(201);
      const patched = await api.ask('PATCH', one, { priority: 7 }, { 'if-match': '"1"' });
      expect([patched.status, patched.body.priority]).toEqual([200, 7]);
      expect((await api.ask('PUT', one, { ...patched.body, enabled: false }, { 'if-match': '"2"' })).body.enabled).toBe(false);
      expect((await api.ask('GET', `${rules}?enabled=false`)).body.items).toMatchObject([{ name: 'payments', enabled: false }]);
      expect((await api.ask('POST', `${one}/revert`, { version: 1 }, { 'if-match': '"3"' })).body).toMatchObject({
        priority: 100,
        enabled: true,
        version: 4,
      });
      expect((await api.ask('DELETE', one, undefined, { 'if-match': '"4"' })).status).toBe(204);
      expect((await api.ask('POST', `${one}/revert`, { version: 2 }, { 'if-match': '*' })).body).toMatchObject({ priority: 7, version: 5 });
      const { items } = (await api.ask('GET', `${one}/history`)).body;
      expect(items.map(({ action }: { action: string }) => action)).toEqual([
        'rule.reverted',
        'rule.deleted',
        'rule.reverted',
        'rule.replaced',
        'rule.replaced',
        'rule.created',
      ]);
      expect(items[4]).toMatchObject({ plan: 'pro', ruleId: created.body.id, patch: [{ op: 'replace', path: '/priority', value: 7 }] });
      for (const elsewhere of ['/v1/default-rules', '/v1/plans/a/rules', '/v1/merchants/list-1/rules']) {
        expect((await api.ask('GET', `${elsewhere}/${created.body.id}`)).status).toBe(404);
        expect((await api.ask('GET', `${elsewhere}/${created.body.id}/history`)).status).toBe(404);
      }
      const audited = (await api.ask('GET', '/v1/audit?plan=pro')).body.items;
      expect(audited.map(({ action }: { action: string }) => action)).toEqual([
        ...items.map(({ action }: { action: string }) => action),
        'plan.created',
      ]);
      expect((await api.ask('POST', '/v1/plans/nothing/rules', rule('x', 1))).body.code).toBe('plan.not_found');
      expect((await api.ask('GET', '/v1/plans/nothing/rules')).body.code).toBe('plan.not_found');
    });

    it('a merchant has at most one plan, which exists, and which is not deleted while it has it', async () => {
      await api.ask('PUT', '/v1/plans/gold', {});
      const created = await api.ask('POST', '/v1/merchants', { id: 'golden', name: 'x', plan: 'gold' });
      expect([created.status, created.body.plan]).toEqual([201, 'gold']);
      await api.ask('POST', '/v1/merchants', { id: 'joins', name: 'x' });
      expect((await api.ask('PATCH', '/v1/merchants/joins', { plan: 'gold' }, { 'if-match': '"1"' })).body).toMatchObject({
        plan: 'gold',
        version: 2,
      });
      const listed = (await api.ask('GET', '/v1/merchants?plan=gold')).body.items;
      expect(listed.map(({ id }: { id: string }) => id)).toEqual(['golden', 'joins']);
      for (const plan of ['nothing', 'No Name', 7]) {
        const refused = await api.ask('PATCH', '/v1/merchants/joins', { plan }, { 'if-match': '*' });
        expect([plan, refused.status, refused.body.errors?.[0]?.pointer]).toEqual([plan, 400, '/plan']);
      }
      const inUse = await api.ask('DELETE', '/v1/plans/gold', undefined, { 'if-match': '*' });
      expect([inUse.status, inUse.body.code]).toEqual([409, 'plan.in_use']);
      expect(inUse.body.detail).toMatch(/^plan "gold" is that of 2 merchants; give them another one first/);
      expect((await api.ask('PATCH', '/v1/merchants/joins', { plan: null }, { 'if-match': '*' })).body.plan).toBeNull();
      await api.ask('DELETE', '/v1/merchants/golden', undefined, { 'if-match': '*' });
      expect((await api.ask('DELETE', '/v1/plans/gold', undefined, { 'if-match': '*' })).status).toBe(204);
      const [, , changed] = (await api.ask('GET', '/v1/merchants/joins/history')).body.items.reverse();
      expect(changed).toMatchObject({ plan: null, patch: [{ op: 'replace', path: '/plan', value: null }] });
    });
  });
});

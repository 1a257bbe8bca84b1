import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { ADMIN_TOKEN } from '../../support/processes.js';
import { ruleBody } from '../../support/factories/rules.js';
import { type Api, emptyRulesApi } from './api.js';

const RULES = '/v1/default-rules';
const [LIMIT] = ruleBody()['limits'] as [Record<string, unknown>];

/** A rule whose one limit differs. */
const limited = (changes: Record<string, unknown>) => ruleBody({ limits: [{ ...LIMIT, ...changes }] });
const without = (object: Record<string, unknown>, field: string) =>
  Object.fromEntries(Object.entries(object).filter(([name]) => name !== field));

describe('bad input', () => {
  let api: Api;
  beforeAll(async () => {
    api = await emptyRulesApi();
  });

  const ALGORITHM = 'must be one of token_bucket, gcra, leaky_bucket, fixed_window, sliding_log, sliding_counter, concurrency';
  const CAPACITY = 'must be a whole number from 0 to 1000000000';
  const INTERVAL = 'must be a whole number from 1 to 31622400000';
  const PRIORITY = 'must be a whole number from 0 to 1000000';
  const NAME = 'must be a text of 1 to 100 characters, without control characters, no space at either end';

  it.each<[string, unknown, string, string | RegExp]>([
    ['a negative capacity', limited({ capacity: -5 }), '/limits/0/capacity', `${CAPACITY}, got -5; the nearest is 0`],
    [
      'initial tokens above a capacity of zero',
      limited({ capacity: 0, initialTokens: 5 }),
      '/limits/0/initialTokens',
      'must be 0 where the capacity is 0, which lets nothing pass, got 5; the nearest is 0',
    ],
    ['a fractional capacity', limited({ capacity: 1.5 }), '/limits/0/capacity', `${CAPACITY}, got 1.5; the nearest is 2`],
    [
      'a huge capacity',
      limited({ capacity: 1e18 }),
      '/limits/0/capacity',
      `${CAPACITY}, got 1000000000000000000; the nearest is 1000000000`,
    ],
    ['a capacity as text', limited({ capacity: '10' }), '/limits/0/capacity', `${CAPACITY}, got "10"`],
    ['a capacity of null', limited({ capacity: null }), '/limits/0/capacity', `${CAPACITY}, got null`],
    ['a capacity of true', limited({ capacity: true }), '/limits/0/capacity', `${CAPACITY}, got true`],
    ['a capacity as list', limited({ capacity: [10] }), '/limits/0/capacity', `${CAPACITY}, got [10]`],
    ['no capacity', ruleBody({ limits: [without(LIMIT, 'capacity')] }), '/limits/0/capacity', `${CAPACITY}, got nothing`],
    ['no refill', limited({ refillTokens: 0 }), '/limits/0/refillTokens', /got 0; the nearest is 1$/],
    [
      'a refill too fast',
      limited({ refillTokens: 5_000, refillIntervalMs: 1 }),
      '/limits/0/refillTokens',
      /at most 1000 for an interval of 1 ms/,
    ],
    ['no interval', limited({ refillIntervalMs: 0 }), '/limits/0/refillIntervalMs', `${INTERVAL}, got 0; the nearest is 1`],
    [
      'an interval of more than a leap year',
      limited({ refillIntervalMs: 31_622_400_001 }),
      '/limits/0/refillIntervalMs',
      `${INTERVAL}, got 31622400001; the nearest is 31622400000`,
    ],
    [
      'a bucket that takes ages',
      limited({ capacity: 1e9, refillTokens: 1, refillIntervalMs: 86_400_000 }),
      '/limits/0/capacity',
      /within ten years/,
    ],
    ['an unknown refill', limited({ refill: 'slowly' }), '/limits/0/refill', "must be 'greedy' or 'interval', got \"slowly\""],
    ['initial tokens below zero', limited({ initialTokens: -1 }), '/limits/0/initialTokens', /got -1; the nearest is 0$/],
    ['initial tokens of null', limited({ initialTokens: null }), '/limits/0/initialTokens', /got null$/],
    ['another algorithm', limited({ algorithm: 'leaky' }), '/limits/0/algorithm', `${ALGORITHM}, got "leaky"`],
    ['no algorithm', ruleBody({ limits: [without(LIMIT, 'algorithm')] }), '/limits/0/algorithm', `${ALGORITHM}, got nothing`],
    ['a limit without a name', limited({ name: '' }), '/limits/0/name', /got ""$/],
    ['an unknown field of a limit', limited({ burst: 1 }), '/limits/0/burst', 'is not a field that is known here'],
    ['a stored field of a limit', limited({ generation: 1 }), '/limits/0/generation', 'is not a field that is known here'],
    ['no limits', ruleBody({ limits: [] }), '/limits', 'must have 1 to 8 items, got 0'],
    ['limits that are missing', { name: 'x' }, '/limits', 'must be a list, got nothing'],
    ['limits of null', ruleBody({ limits: null }), '/limits', 'must be a list, got null'],
    ['limits as object', ruleBody({ limits: { 0: LIMIT } }), '/limits', /^must be a list, got/],
    [
      'too many limits',
      ruleBody({ limits: Array.from({ length: 9 }, (_, i) => ({ ...LIMIT, name: `l${i}` })) }),
      '/limits',
      'must have 1 to 8 items, got 9',
    ],
    ['a limit that is a number', ruleBody({ limits: [LIMIT, 5] }), '/limits/1', 'must be an object, got 5'],
    ['a limit that is null', ruleBody({ limits: [null] }), '/limits/0', 'must be an object, got null'],
    ['a limit that is a list', ruleBody({ limits: [[LIMIT]] }), '/limits/0', /^must be an object/],
    [
      'two limits of one name',
      ruleBody({ limits: [LIMIT, LIMIT] }),
      '/limits/1/name',
      'must differ from the names of the other limits, got "burst" again',
    ],
    ['no name', without(ruleBody(), 'name'), '/name', `${NAME}, got nothing`],
    ['an empty name', ruleBody({ name: '' }), '/name', `${NAME}, got ""`],
    ['a name of null', ruleBody({ name: null }), '/name', `${NAME}, got null`],
    ['a name with a newline', ruleBody({ name: 'a\nb' }), '/name', `${NAME}, got "a\\nb"`],
    ['a name with a zero byte', ruleBody({ name: 'a\0b' }), '/name', `${NAME}, got "a\\u0000b"`],
    ['a name with half a character', ruleBody({ name: 'a\ud800' }), '/name', `${NAME}, got "a\\ud800"`],
    ['a name too long', ruleBody({ name: 'x'.repeat(101) }), '/name', /…$/],
    ['an unknown layer', ruleBody({ layer: 'galaxy' }), '/layer', 'must be one of platform, network, merchant, user, got "galaxy"'],
    ['a layer of null', ruleBody({ layer: null }), '/layer', /got null$/],
    ['a negative priority', ruleBody({ priority: -1 }), '/priority', `${PRIORITY}, got -1`],
    ['a huge priority', ruleBody({ priority: 1e6 + 1 }), '/priority', `${PRIORITY}, got 1000001`],
    ['a priority as text', ruleBody({ priority: '100' }), '/priority', `${PRIORITY}, got "100"`],
    ['enabled as text', ruleBody({ enabled: 'true' }), '/enabled', 'must be true or false, got "true"'],
    ['enabled as number', ruleBody({ enabled: 1 }), '/enabled', 'must be true or false, got 1'],
    ['an unknown mode', ruleBody({ mode: 'off' }), '/mode', 'must be one of enforce, shadow, or { "enforcePercent": n }, got "off"'],
    ['a cost of zero', ruleBody({ cost: 0 }), '/cost', 'must be a whole number from 1 to 1000000000, got 0'],
    [
      'an unknown policy',
      ruleBody({ onStoreFailure: 'panic' }),
      '/onStoreFailure',
      'must be one of open, closed, local, leased, got "panic"',
    ],
    ['a penalty that is true', ruleBody({ penalty: true }), '/penalty', 'must be an object, or null for none, got true'],
    [
      'a penalty for nothing',
      ruleBody({ penalty: { refusals: 0, windowMs: 1000, blockMs: 1000 } }),
      '/penalty/refusals',
      'must be a whole number from 1 to 1000000, got 0',
    ],
    [
      'a penalty for ever',
      ruleBody({ penalty: { refusals: 1, windowMs: 1000, blockMs: 86_400_001 } }),
      '/penalty/blockMs',
      'must be a whole number from 1000 to 86400000, got 86400001',
    ],
    [
      'a penalty with an unknown field',
      ruleBody({ penalty: { refusals: 1, windowMs: 1000, blockMs: 1000, ban: true } }),
      '/penalty/ban',
      'is not a field that is known here',
    ],
    ['match as list', ruleBody({ match: [] }), '/match', 'must be an object, got []'],
    ['match of null', ruleBody({ match: null }), '/match', 'must be an object, got null'],
    ['methods as text', ruleBody({ match: { methods: 'POST' } }), '/match/methods', 'must be a list, got "POST"'],
    ['methods of null', ruleBody({ match: { methods: null } }), '/match/methods', 'must be a list, got null'],
    [
      'a method in small letters',
      ruleBody({ match: { methods: ['GET', 'post'] } }),
      '/match/methods/1',
      'must be an HTTP method in capitals like POST, got "post"',
    ],
    ['a method twice', ruleBody({ match: { methods: ['GET', 'GET'] } }), '/match/methods/1', 'must not repeat "GET"'],
    ['a path without slash', ruleBody({ match: { paths: ['/ok', 'a'] } }), '/match/paths/1', 'must start with \'/\', got "a"'],
    ['a path that is a number', ruleBody({ match: { paths: [1] } }), '/match/paths/0', /got 1$/],
    ['a path with half a character', ruleBody({ match: { paths: ['/\ud800'] } }), '/match/paths/0', /got/],
    [
      'a misspelt field of match',
      ruleBody({ match: { path: ['/a'] } }),
      '/match/path',
      'is not a field that is known here; did you mean "paths"?',
    ],
    [
      'a misspelt field of a limit',
      limited({ capcity: 1 }),
      '/limits/0/capcity',
      'is not a field that is known here; did you mean "capacity"?',
    ],
    [
      'an unknown key part',
      ruleBody({ key: ['merchant', 'moon'] }),
      '/key/1',
      'must be one of merchant, user, apiKey, ip, ip.prefix, country, method, path, host, or header.NAME, query.NAME, cookie.NAME, jwt.CLAIM or ' +
        'apiKey.label.NAME with a name of at most 64 characters, or body.PATH, got "moon"',
    ],
    ['a key part twice', ruleBody({ key: ['ip', 'ip'] }), '/key/1', 'must not repeat "ip"'],
    ['an unknown field', ruleBody({ prio: 5 }), '/prio', 'is not a field that is known here'],
    ['an unknown field with a slash', ruleBody({ 'a/b~c': 5 }), '/a~1b~0c', 'is not a field that is known here'],
    ['a field that the server sets, in a new rule', ruleBody({ id: '1' }), '/id', 'is not a field that is known here'],
  ])('in a rule: %s', async (_name, body, pointer, detail) => {
    const { status, headers, body: problem } = await api.ask('POST', RULES, body);
    expect(problem).toMatchObject({
      status: 400,
      type: 'http://127.0.0.1:3000/problems/invalid-body',
      code: 'body.invalid',
      title: 'Bad Request',
      instance: RULES,
    });
    expect([status, headers.get('content-type')]).toEqual([400, 'application/problem+json']);
    expect(problem.errors).toEqual([
      {
        pointer,
        code: expect.stringMatching(/^(rule|limit)\.[\w.]+$/) as string,
        detail: typeof detail === 'string' ? detail : (expect.stringMatching(detail) as string),
      },
    ]);
  });

  it('in several places at once: all are named', async () => {
    const { body } = await api.ask('POST', RULES, {
      name: '',
      priority: 1.5,
      colour: 'red',
      match: { methods: ['get'], paths: ['x', '/ok', 'y'] },
      limits: [{ ...LIMIT, capacity: -1, refill: 'no' }, { name: 'b' }],
    });
    const pointers = (body.errors as { pointer: string }[]).map(({ pointer }) => pointer).sort();
    expect(pointers).toEqual(
      [
        '/colour',
        '/limits/0/capacity',
        '/limits/0/refill',
        '/limits/1/algorithm',
        '/match/methods/0',
        '/match/paths/0',
        '/match/paths/2',
        '/name',
        '/priority',
      ].sort(),
    );
  });

  const ID = 'must be 1 to 128 characters, no control characters, no space at either end, and neither . nor ..';
  const ZONE = 'must be an IANA time zone like Europe/Berlin';
  it.each<[string, unknown, string, string]>([
    ['no id', { name: 'x' }, '/id', `${ID}, got nothing`],
    ['an empty id', { id: '', name: 'x' }, '/id', `${ID}, got ""`],
    ['an id that is a number', { id: 7, name: 'x' }, '/id', `${ID}, got 7`],
    ['an id with a newline', { id: 'a\nb', name: 'x' }, '/id', `${ID}, got "a\\nb"`],
    ['an id with a space at its end', { id: 'a ', name: 'x' }, '/id', `${ID}, got "a "`],
    ['an id that is a dot', { id: '.', name: 'x' }, '/id', `${ID}, got "."`],
    ['an id that is two dots', { id: '..', name: 'x' }, '/id', `${ID}, got ".."`],
    ['an id too long', { id: 'x'.repeat(129), name: 'x' }, '/id', `${ID}, got "${'x'.repeat(99)}…`],
    [
      'a name of null',
      { id: 'a', name: null },
      '/name',
      'must be a text of 1 to 200 characters, without control characters, no space at either end, got null',
    ],
    ['no such zone', { id: 'a', name: 'x', timeZone: 'Mars/Phobos' }, '/timeZone', `${ZONE}, got "Mars/Phobos"`],
    ['an offset as zone', { id: 'a', name: 'x', timeZone: '+01:00' }, '/timeZone', `${ZONE}, got "+01:00"`],
    ['a zone of null', { id: 'a', name: 'x', timeZone: null }, '/timeZone', `${ZONE}, got null`],
    ['an unknown field', { id: 'a', name: 'x', admin: true }, '/admin', 'is not a field that is known here'],
  ])('in a merchant: %s', async (_name, body, pointer, detail) => {
    const answer = await api.ask('POST', '/v1/merchants', body);
    expect([answer.status, answer.body.errors]).toEqual([
      400,
      [{ pointer, code: expect.stringMatching(/^merchant\.[\w.]+$/) as string, detail }],
    ]);
  });

  it.each<[string, unknown, RegExp]>([
    ['nothing to change', {}, /expected name or timeZone/],
    ['only what the server says', { id: 'b', version: 2 }, /expected name or timeZone/],
    ['a name of null', { name: null }, /field/],
  ])('in a change of a merchant: %s', async (_name, body, detail) => {
    await api.ask('POST', '/v1/merchants', { id: 'changed', name: 'x' });
    const answer = await api.ask('PATCH', '/v1/merchants/changed', body, { 'if-match': '"1"' });
    expect([answer.status, answer.body.detail]).toEqual([400, expect.stringMatching(detail)]);
  });

  it.each(['[]', '"text"', '5', 'null', 'true', '[{"id":"a","name":"x"}]'])('a body that is %s', async (body) => {
    const answer = await api.ask('POST', '/v1/merchants', body);
    expect([answer.status, answer.body.detail]).toEqual([400, expect.stringMatching(/^the body must be a JSON object, got/)]);
  });

  it.each<[string, string | undefined, Record<string, string>, number]>([
    ['broken JSON', '{"id":', {}, 400],
    ['an empty body', '', {}, 400],
    ['no body', undefined, {}, 400],
    ['prototype pollution', '{"__proto__":{"x":1},"id":"a","name":"x"}', {}, 400],
    ['a form', 'id=a&name=x', { 'content-type': 'application/x-www-form-urlencoded' }, 415],
    ['plain text', '{"id":"a","name":"x"}', { 'content-type': 'text/plain' }, 415],
    ['XML', '<a/>', { 'content-type': 'application/xml' }, 415],
    ['a content type that is none', '{}', { 'content-type': 'json' }, 415],
    ['a body nested beyond measure', `{"name":${'['.repeat(30_000)}${']'.repeat(30_000)}}`, {}, 400],
    ['a body of 70 KB', JSON.stringify({ id: 'x'.repeat(70_000) }), {}, 413],
  ])('%s', async (_name, body, headers, status) => {
    const answer = await api.ask('POST', '/v1/merchants', body, headers);
    expect(answer.body).toMatchObject({
      status,
      type: expect.stringContaining('/problems/') as string,
      code: expect.any(String) as string,
    });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([status, 'application/problem+json']);
  });

  it.each([
    ['GET', `${RULES}?size=5`, 'size', 'is not known here; limit, cursor, path, label, algorithm and enabled are'],
    ['GET', `${RULES}/1?limit=5`, 'limit', 'is not known here, and nothing else is'],
    ['POST', `${RULES}?dryRun=true`, 'dryRun', 'is not known here; strict is'],
    ['DELETE', `${RULES}/1?force`, 'force', 'is not known here, and nothing else is'],
  ])('%s %s: an unknown name in the query', async (method, path, parameter, detail) => {
    const { status, body } = await api.ask(method, path, method === 'POST' ? ruleBody() : undefined, { 'if-match': '*' });
    expect([status, body.errors]).toEqual([400, [{ parameter, code: 'query.unknown_parameter', detail }]]);
  });

  it('the type of a problem leads to a page that is served without a token', async () => {
    const { body } = await api.ask('POST', RULES, {});
    const page = await fetch(api.app.url + new URL(body.type as string).pathname);
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
    expect(await page.text()).toMatch(/^# Invalid body\n/);
    const unknown = await fetch(`${api.app.url}/problems/..%2f..%2fpackage.json`);
    expect([unknown.status, await unknown.json()]).toEqual([404, expect.objectContaining({ code: 'problem_type.not_found' })]);
  });

  it('a body of 10 MB, by its length: it is not waited for', async () => {
    const sent = request(`${api.app.url}/v1/merchants`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json', 'content-length': 10_000_000 },
    });
    sent.write('{');
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    expect([answer.statusCode, answer.headers['content-type']]).toEqual([413, 'application/problem+json']);
    sent.destroy();
  });

  it('leaves nothing behind, and the API at work', async () => {
    expect((await api.ask('GET', RULES)).body.items).toEqual([]);
    expect((await api.ask('GET', '/readyz')).status).toBe(200);
    expect(api.app.logs.filter(({ level }) => level === 'error')).toEqual([]);
  });
});

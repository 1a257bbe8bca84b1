import { ADMIN_TOKEN } from '../../support/processes.js';
import { ruleBody } from '../../support/factories/rules.js';
import { type Answer, type Api, ask, emptyRulesApi } from './api.js';

let api: Api;
let keys = 0;
beforeAll(async () => {
  api = await emptyRulesApi();
  await api.ask('POST', '/v1/merchants', { id: 'acme', name: 'Acme' });
});

const newKey = () => ({ 'idempotency-key': `key-${keys++}` });
const shown = ({ status, headers, body }: Answer) => [
  status,
  headers.get('location'),
  headers.get('etag'),
  headers.get('content-type'),
  body as unknown,
];

describe.each<[string, () => Record<string, unknown>]>([
  ['/v1/merchants', () => ({ id: `merchant-${keys}`, name: 'x' })],
  ['/v1/merchants/acme/rules', () => ruleBody({ name: `rule ${keys}` })],
  ['/v1/default-rules', () => ruleBody({ name: `rule ${keys}` })],
])('a POST to %s with an Idempotency-Key', (path, newBody) => {
  it('is carried out once, and answered the same each time', async () => {
    const [key, body] = [newKey(), newBody()];
    const first = await api.ask('POST', path, body, key);
    expect(first.status).toBe(201);
    for (let i = 0; i < 3; i++) expect(shown(await api.ask('POST', path, body, key))).toEqual(shown(first));
    expect((await api.ask('GET', first.headers.get('location')!)).body).toEqual(first.body);
    // Without the key it is another request.
    expect((await api.ask('POST', path, body)).status).toBe(409);
  });

  it('is refused with 422 for another body', async () => {
    const [key, body] = [newKey(), newBody()];
    await api.ask('POST', path, body, key);
    const { status, body: problem } = await api.ask('POST', path, { ...body, name: 'another' }, key);
    expect([status, problem.code]).toEqual([422, 'idempotency_key.reused']);
  });

  it('repeats a refusal that was final', async () => {
    const key = newKey();
    const body = { ...newBody(), name: '' };
    const first = await api.ask('POST', path, body, key);
    expect([first.status, first.body.errors.length]).toEqual([400, 1]);
    expect(shown(await api.ask('POST', path, body, key))).toEqual(shown(first));
  });

  it('is carried out once if it comes many times at once', async () => {
    const [key, body] = [newKey(), newBody()];
    const answers = await Promise.all(Array.from({ length: 8 }, () => api.ask('POST', path, body, key)));
    const others = answers.filter(({ status }) => status !== 201);
    expect(new Set(answers.filter(({ status }) => status === 201).map(({ body: made }) => JSON.stringify(made))).size).toBe(1);
    for (const other of others) {
      expect([other.status, other.body.code, other.headers.get('retry-after')]).toEqual([409, 'idempotency_key.in_progress', '1']);
    }
    expect((await api.ask('POST', path, body, key)).status).toBe(201);
  });
});

describe('an Idempotency-Key', () => {
  it('is of one path', async () => {
    const [key, body] = [newKey(), ruleBody({ name: `rule ${keys}` })];
    expect((await api.ask('POST', '/v1/default-rules', body, key)).status).toBe(201);
    expect((await api.ask('POST', '/v1/merchants/acme/rules', body, key)).status).toBe(422);
  });

  it('is of one bearer', async () => {
    const { token } = (await api.ask('POST', '/v1/tokens', { name: 'other', role: 'editor' })).body as { token: string };
    const [key, body] = [newKey(), { id: 'of-two', name: 'x' }];
    expect((await api.ask('POST', '/v1/merchants', body, key)).status).toBe(201);
    const answer = await ask(api.app.url, 'POST', '/v1/merchants', body, { ...key, authorization: `Bearer ${token}` });
    expect([answer.status, answer.body.code]).toEqual([409, 'merchant.id.taken']);
  });

  it('of a token keeps no secret: the repeated request makes no second token and gets 409', async () => {
    const [key, body] = [newKey(), { name: 'once', role: 'viewer' }];
    const first = await api.ask('POST', '/v1/tokens', body, key);
    expect(first.status).toBe(201);
    const { status, body: problem } = await api.ask('POST', '/v1/tokens', body, key);
    expect([status, problem.code]).toEqual([409, 'idempotency_key.shown_once']);
    expect(JSON.stringify(problem)).not.toContain((first.body as { token: string }).token);
    const { items } = (await api.ask('GET', '/v1/tokens?limit=200')).body as { items: { name: string }[] };
    expect(items.filter(({ name }) => name === 'once')).toHaveLength(1);
  });

  it('of a token that is rotated keeps no secret either, and rotates it once', async () => {
    const { id } = (await api.ask('POST', '/v1/tokens', { name: 'rotated', role: 'viewer' })).body as { id: string };
    const key = newKey();
    const { token } = (await api.ask('POST', `/v1/tokens/${id}/rotate`, {}, key)).body as { token: string };
    const again = await api.ask('POST', `/v1/tokens/${id}/rotate`, {}, key);
    expect([again.status, again.body.code]).toEqual([409, 'idempotency_key.shown_once']);
    const known = await ask(api.app.url, 'GET', '/v1/merchants', undefined, { authorization: `Bearer ${token}` });
    expect(known.status).toBe(200);
  });

  it('of a revert makes one version', async () => {
    const made = await api.ask('POST', '/v1/default-rules', ruleBody({ name: `rule ${keys}` }));
    const path = made.headers.get('location')!;
    await api.ask('PUT', path, ruleBody({ name: `rule ${keys}`, cost: 2 }), { 'if-match': '*' });
    const headers = { ...newKey(), 'if-match': '*' };
    const reverted = await api.ask('POST', `${path}/revert`, { version: 1 }, headers);
    expect([reverted.status, reverted.headers.get('etag')]).toEqual([200, '"3"']);
    expect(shown(await api.ask('POST', `${path}/revert`, { version: 1 }, headers))).toEqual(shown(reverted));
    expect((await api.ask('GET', path)).headers.get('etag')).toBe('"3"');
  });

  it.each([
    ['JSON', 'application/json', (document: object) => JSON.stringify(document)],
    // JSON is YAML.
    ['YAML', 'application/yaml', (document: object) => JSON.stringify(document)],
  ])('of a file in %s repeats what it changed, and is of this file', async (_which, type, written) => {
    const key = { ...newKey(), 'content-type': type };
    const merchant = { id: `of-file-${keys}`, name: 'x', rules: [ruleBody({ name: 'first' })] };
    const file = written({ version: 1, merchants: [merchant] });
    const first = await api.ask('POST', '/v1/apply', file, key);
    expect([first.status, first.body.applied, first.body.changes.length]).toEqual([200, true, 2]);
    expect(shown(await api.ask('POST', '/v1/apply', file, key))).toEqual(shown(first));
    const other = written({ version: 1, merchants: [{ ...merchant, name: 'y' }] });
    expect((await api.ask('POST', '/v1/apply', other, key)).body.code).toBe('idempotency_key.reused');
    // Without the key it is another request, which finds nothing to do.
    expect((await api.ask('POST', '/v1/apply', file, { 'content-type': type })).body.changes).toEqual([]);
  });

  it.each([
    ['empty', ''],
    ['too long', 'x'.repeat(129)],
    ['of two words', 'a b'],
    ['not ASCII', 'é'],
  ])('that is %s is 400', async (_what, key) => {
    const { status, body } = await api.ask('POST', '/v1/merchants', { id: 'never', name: 'x' }, { 'idempotency-key': key });
    expect([status, body.code]).toEqual([400, 'header.idempotency_key.malformed']);
  });

  it('gives nobody without the role an answer', async () => {
    const [key, body] = [newKey(), { id: 'private', name: 'x' }];
    await api.ask('POST', '/v1/merchants', body, { ...key, authorization: `Bearer ${ADMIN_TOKEN}` });
    expect((await api.ask('POST', '/v1/merchants', body, { ...key, authorization: undefined })).status).toBe(401);
  });
});

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { mainOf } from '../../../scripts/paths.mjs';
import { ruleBody } from '../../support/factories/rules.js';
import { ADMIN_TOKEN, startApp, type RunningApp } from '../../support/processes.js';
import { until } from '../../support/until.js';
import { House } from '../gateway/house.js';
import { ask, type Answer } from '../rules-api/api.js';

/** What operators see of live buckets, and do to them, is felt by a gateway that serves them. */

let house: House;
let rulesApi: RunningApp;
let preloader: RunningApp;
let gateway: RunningApp;
let ruleId: string;

const BUCKETS = '/v1/merchants/acme/buckets';
/** Nothing comes back while the test runs. */
const LIMITS = [{ name: 'burst', algorithm: 'token_bucket', capacity: 3, refillTokens: 1, refillIntervalMs: 86_400_000 }];

const api = (method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer> =>
  ask(rulesApi.url, method, path, body, headers);
const MANAGEMENT_TOKEN = 'management-token-of-this-test';
const send = async (options = {}): Promise<number> => (await house.send(gateway, 'acme', options)).status;

interface Bucket {
  ruleId: string;
  needs: string[];
  remaining: number | null;
  blockedForMs: number | null;
}
const items = ({ body }: Answer): Bucket[] => (body as { items: Bucket[] }).items;

beforeAll(async () => {
  house = await House.open();
  const stores = { REDIS_URL: house.redisServer.url, DATABASE_URL: house.database.url };
  rulesApi = await startApp('rules-api', { ...stores, BUCKETS_REDIS_URL: house.redisServer.url });
  preloader = await startApp('preloader', stores);
  gateway = await house.gateway({ STORE_TIMEOUT_MS: '5000', IDENTITY: 'api-key,header', USAGE_FLUSH_MS: '1000', MANAGEMENT_TOKEN });
  await api('POST', '/v1/merchants', { id: 'acme', name: 'Acme' });
  ruleId = ((await api('POST', '/v1/merchants/acme/rules', ruleBody({ limits: LIMITS }))).body as { id: string }).id;
  await until('the snapshot is in Redis', async () => (await house.snapshots.read('acme'))?.rules.length === 1);
});

afterAll(async () => {
  await Promise.all([rulesApi.kill(), preloader.kill()]);
  await house.close();
});

test('levels are shown as requests leave them', async () => {
  expect(items(await api('GET', BUCKETS))).toMatchObject([
    { ruleId, source: 'merchant', limit: 'burst', key: ['merchant'], needs: [], capacity: 3, remaining: 3, blockedForMs: 0 },
  ]);
  expect([await send(), await send()]).toEqual([200, 200]);
  expect(items(await api('GET', BUCKETS))).toMatchObject([{ remaining: 1 }]);
});

test('a reset, tokens more or less, a block and its end are felt by a gateway that already refuses', async () => {
  await until('the bucket is empty', async () => (await send()) === 429);
  const one = { ruleId, limit: 'burst' };
  const correct = () =>
    api('POST', `${BUCKETS}/adjust`, { ...one, tokens: 1, reason: 'the terminal sent twice' }, { 'idempotency-key': 'sent-twice' });
  // A request that is repeated adds nothing: afterwards one request passes.
  for (let i = 0; i < 2; i++) expect(items(await correct())).toMatchObject([{ remaining: 1 }]);
  await until('the token is there', async () => (await send()) === 200);
  await until('and gone', async () => (await send()) === 429);
  expect(items(await api('POST', `${BUCKETS}/reset`, {}, { 'x-change-reason': 'an incident' }))).toMatchObject([{ remaining: 3 }]);
  await until('a full bucket', async () => (await send()) === 200);
  expect(items(await api('POST', `${BUCKETS}/block`, { ...one, forMs: 3_600_000 }))[0]?.blockedForMs).toBeGreaterThan(3_590_000);
  await until('everything is refused', async () => (await send()) === 429);
  expect(items(await api('GET', BUCKETS))[0]?.blockedForMs).toBeGreaterThan(3_000_000);
  expect(items(await api('POST', `${BUCKETS}/unblock`, one))).toMatchObject([{ blockedForMs: 0 }]);
  await until('the rest is there', async () => (await send()) === 200);
  expect(items(await api('POST', `${BUCKETS}/adjust`, { ...one, tokens: -100 }))).toMatchObject([{ remaining: 0 }]);
  expect(await send()).toBe(429);
});

test('each operation is written to the audit, with its actor and reason', async () => {
  const { body } = await api('GET', '/v1/audit?merchant=acme&limit=200');
  const changes = (body as { items: { action: string; reason: string | null; actor: string }[] }).items.filter(({ action }) =>
    action.startsWith('bucket.'),
  );
  expect(changes.map(({ action, reason, actor }) => [action, reason, actor])).toEqual([
    ['bucket.adjusted', null, 'admin'],
    ['bucket.unblocked', null, 'admin'],
    ['bucket.blocked', null, 'admin'],
    ['bucket.reset', 'an incident', 'admin'],
    ['bucket.adjusted', 'the terminal sent twice', 'admin'],
  ]);
});

test('the command line shows, corrects and explains them', async () => {
  const tollgate = async (...args: string[]): Promise<string> => {
    const env = { PATH: process.env['PATH'], TOLLGATE_URL: rulesApi.url, TOLLGATE_TOKEN: ADMIN_TOKEN };
    return (await promisify(execFile)(process.execPath, [mainOf('cli'), ...args], { env })).stdout;
  };
  const one = ['--merchant', 'acme', '--rule', ruleId, '--limit', 'burst'];
  expect(await tollgate('buckets', 'reset', '--merchant', 'acme', '--reason', 'the command line')).toContain('3 of 3');
  expect(await tollgate('buckets', 'adjust', ...one, '--tokens', '-3')).toContain('0 of 3');
  expect(await tollgate('buckets', 'list', '--merchant', 'acme')).toContain('0 of 3');
  const refused = await tollgate('explain', 'GET', '/transactions', '--merchant', 'acme');
  expect(refused).toContain('The request would be refused with status 429: over_limit.');
  expect(refused).toMatch(/merchant +\d+ +card payments +merchant +chosen +-/);
  expect(JSON.parse(await tollgate('buckets', 'block', ...one, '--for-ms', '60000', '--json'))).toMatchObject([{ ruleId }]);
  expect(await tollgate('buckets', 'unblock', ...one)).toMatch(/burst +merchant +0 of 3 +\d+ ms +-/);
});

test('the command line explains a request with an API key and a token', async () => {
  await api('POST', '/v1/merchants', { id: 'claimed', name: 'Claimed' });
  const all = [
    { field: 'apiKey.label.team', equals: 'web' },
    { field: 'jwt.scope', equals: 'payments' },
  ];
  await api(
    'POST',
    '/v1/merchants/claimed/rules',
    ruleBody({ name: 'of the web', match: { methods: [], paths: [], all }, limits: LIMITS }),
  );
  const explained = async (...args: string[]): Promise<string> => {
    const env = { PATH: process.env['PATH'], TOLLGATE_URL: rulesApi.url, TOLLGATE_TOKEN: ADMIN_TOKEN };
    const described = ['explain', 'get', '/x', '--merchant', 'claimed', '--api-key', '3', '--api-key-label', 'team=web', ...args];
    return (await promisify(execFile)(process.execPath, [mainOf('cli'), ...described], { env })).stdout;
  };
  expect(await explained('--claim', 'scope=payments', '--claim', 'org.team=x')).toMatch(/of the web +merchant +chosen/);
  expect(await explained('--claim', 'scope=other')).toMatch(/of the web +merchant +does not match +.*jwt\.scope is "other"/);
});

test('a bucket whose key has an address is read when the address is named, however it is spelled', async () => {
  const rule = ruleBody({ name: 'by address', layer: 'network', key: ['merchant', 'ip'], limits: LIMITS });
  const id = ((await api('POST', '/v1/merchants/acme/rules', rule)).body as { id: string }).id;
  expect(items(await api('GET', `${BUCKETS}?ruleId=${id}`))).toMatchObject([{ ruleId: id, needs: ['ip'], remaining: null }]);
  await api('POST', `${BUCKETS}/adjust`, { ruleId: id, limit: 'burst', ip: '2001:DB8:0::7', tokens: -2 });
  expect(items(await api('GET', `${BUCKETS}?ruleId=${id}&ip=2001:db8::7`))).toMatchObject([{ needs: [], remaining: 1 }]);
  expect(items(await api('GET', `${BUCKETS}?ruleId=${id}&ip=2001:db8::8`))).toMatchObject([{ remaining: 3 }]);
});

test('each bucket comes once over all pages', async () => {
  const first = await api('GET', `${BUCKETS}?limit=1`);
  const { nextCursor } = first.body as { nextCursor: string };
  const second = await api('GET', `${BUCKETS}?limit=1&cursor=${nextCursor}`);
  expect(items(first)[0]?.ruleId).toBe(ruleId);
  expect(items(second)[0]?.ruleId).not.toBe(ruleId);
  expect((second.body as { nextCursor: string | null }).nextCursor).toBeNull();
});

test('a bucket of any key is read and blocked when its parts are named, absence too, and the gateway feels it', async () => {
  const key = ['merchant', 'header.X-Device-Id', 'query.currency'];
  const rule = ruleBody({ name: 'by device', layer: 'user', match: { methods: [], paths: ['/by-device'] }, key, limits: LIMITS });
  const id = ((await api('POST', '/v1/merchants/acme/rules', rule)).body as { id: string }).id;
  await until('the snapshot is in Redis', async () => (await house.snapshots.read('acme'))?.rules.some((each) => each.id === id));
  const one = { ruleId: id, limit: 'burst' };
  const device = { 'header.x-device-id': 'a device', 'query.currency': null };
  const withDevice = { path: '/by-device', headers: { 'x-device-id': 'a device' } };
  const left = (parts: object) => api('GET', `${BUCKETS}?ruleId=${id}&key=${encodeURIComponent(JSON.stringify(parts))}`);
  expect(items(await left({ 'header.x-device-id': 'a device' }))).toMatchObject([{ needs: ['query.currency'], remaining: null }]);
  await until('the rule counts', async () => {
    await api('POST', `${BUCKETS}/reset`, { ruleId });
    return (await send(withDevice)) === 200 && items(await left(device))[0]?.remaining !== 3;
  });
  expect(items(await left({ ...device, 'query.currency': '' }))).toMatchObject([{ remaining: 3 }]);
  await api('POST', `${BUCKETS}/block`, { ...one, key: device, forMs: 3_600_000 });
  await until('the device is refused', async () => (await send(withDevice)) === 429);
  const missing = await api('POST', `${BUCKETS}/unblock`, { ...one, key: { 'header.x-device-id': 'a device' } });
  expect([missing.status, missing.body.errors[0].pointer]).toEqual([400, '/key/query.currency']);
  const twice = await api('POST', `${BUCKETS}/unblock`, { ...one, method: 'GET', key: { ...device, method: 'GET' } });
  expect([twice.status, twice.body.errors[0].code]).toEqual([400, 'bucket.key.repeated']);
  expect(items(await api('POST', `${BUCKETS}/unblock`, { ...one, key: device }))).toMatchObject([{ blockedForMs: 0 }]);
  const audit = (await api('GET', '/v1/audit?merchant=acme&limit=2')).body;
  expect(JSON.stringify(audit)).toContain('digest:');
  expect(JSON.stringify(audit)).not.toContain('a device');
});

test.each([
  ['adjust', { tokens: 1 }, 400, ['/ruleId', '/limit']],
  ['adjust', { ruleId: '999', limit: 'burst', tokens: 1 }, 400, ['/ruleId']],
  ['adjust', { ruleId: 'RULE', limit: 'no such limit', tokens: 1 }, 400, ['/ruleId']],
  ['adjust', { ruleId: 'RULE', limit: 'burst', tokens: 0 }, 400, ['/tokens']],
  ['adjust', { ruleId: 'RULE', limit: 'burst', tokens: 1.5 }, 400, ['/tokens']],
  ['block', { ruleId: 'RULE', limit: 'burst', forMs: 0 }, 400, ['/forMs']],
  ['reset', { limit: 'nothing is called so' }, 400, ['/limit']],
  ['reset', { ip: 'localhost' }, 400, ['/ip']],
])('%s of %j is refused, and the field named', async (operation, body, status, pointers) => {
  const answer = await api('POST', `${BUCKETS}/${operation}`, { ...body, ...('ruleId' in body && body.ruleId === 'RULE' && { ruleId }) });
  expect(answer.status).toBe(status);
  expect((answer.body as { errors: { pointer: string }[] }).errors.map(({ pointer }) => pointer)).toEqual(pointers);
});

test('a bucket that all merchants share is not changed by a reset of one merchant, nor by a token that is limited to one', async () => {
  const shared = (
    (await api('POST', '/v1/default-rules', ruleBody({ name: 'shared', layer: 'platform', key: [], limits: LIMITS }))).body as {
      id: string;
    }
  ).id;
  const { token } = (await api('POST', '/v1/tokens', { name: 'of acme', role: 'editor', merchants: ['acme'] })).body as { token: string };
  const one = { ruleId: shared, limit: 'burst' };
  const asAcme = (operation: string, body: object) => api('POST', `${BUCKETS}/${operation}`, body, { authorization: `Bearer ${token}` });
  expect(items(await api('POST', `${BUCKETS}/adjust`, { ...one, tokens: -1 }))).toMatchObject([{ source: 'default', remaining: 2 }]);
  for (const [operation, body] of [
    ['reset', one],
    ['adjust', { ...one, tokens: -1 }],
    ['block', { ...one, forMs: 1000 }],
    ['unblock', one],
  ] as const) {
    const answer = await asAcme(operation, body);
    expect([answer.status, (answer.body as { code: string }).code]).toEqual([403, 'token.limited']);
  }
  expect((await asAcme('reset', { ruleId })).status).toBe(200);
  await api('POST', `${BUCKETS}/reset`, { ip: '192.0.2.1' });
  expect(items(await api('GET', `${BUCKETS}?ruleId=${shared}`))).toMatchObject([{ remaining: 2 }]);
});

test('a merchant that does not exist has no buckets', async () => {
  expect((await api('GET', '/v1/merchants/nobody/buckets')).status).toBe(404);
});

test('while Redis is away the answer is 503, nothing is written to the audit, and it works again by itself', async () => {
  const count = async () => (await api('GET', '/v1/audit?limit=200')).body as { items: unknown[] };
  const before = (await count()).items.length;
  house.redisServer.freeze();
  try {
    const answer = await api('POST', `${BUCKETS}/reset`, { ruleId });
    expect([answer.status, (answer.body as { code: string }).code]).toEqual([503, 'buckets.unavailable']);
  } finally {
    house.redisServer.thaw();
  }
  expect((await count()).items).toHaveLength(before);
  await until('it works again', async () => (await api('POST', `${BUCKETS}/reset`, { ruleId })).status === 200);
});

test('a merchant sees its own limits and what is left of them, and nothing of others, of shadow rules or of what all share', async () => {
  await api('POST', '/v1/merchants', { id: 'curious', name: 'Curious' });
  const match = { methods: ['POST'], paths: ['/transactions/**'] };
  const own = ruleBody({ name: 'secret suspicion', note: 'do not tell', match, limits: LIMITS });
  const mine = ((await api('POST', '/v1/merchants/curious/rules', own)).body as { id: string }).id;
  await api('POST', '/v1/merchants/curious/rules', ruleBody({ name: 'trial', mode: 'shadow', limits: LIMITS }));
  const { key } = (await api('POST', '/v1/merchants/curious/api-keys', { name: 'shop' })).body as { key: string };
  const me = (query = '') => api('GET', `/v1/me/limits${query}`, undefined, { authorization: `Bearer ${key}` });
  const seen = { ruleId: mine, limit: 'burst', algorithm: 'token_bucket', ...match, quota: 3, windowMs: 3 * 86_400_000, needs: [] };
  const none = { passed: 0, refused: 0 };
  const untouched = { ...seen, remaining: 3, resetAfterMs: 0, blockedForMs: 0, usage: { lastHour: none, lastDay: none } };
  expect((await me()).body).toEqual({ items: [untouched], nextCursor: null });
  await api('POST', '/v1/merchants/curious/buckets/adjust', { ruleId: mine, limit: 'burst', tokens: -2 });
  const answer = await me();
  expect(items(answer)).toMatchObject([{ ...seen, remaining: 1 }]);
  expect(JSON.stringify(answer.body)).not.toMatch(/suspicion|do not tell/);
  // A default rule with a bucket for each merchant is its own as well, and an address is its to name.
  const reserve = [{ name: 'secret too', paths: ['/captures'], percent: 20 }];
  await api(
    'POST',
    '/v1/default-rules',
    ruleBody({ name: 'for each', layer: 'network', key: ['merchant', 'ip'], limits: LIMITS, reserve }),
  );
  const kept = { quota: 1, routes: [{ methods: [], paths: ['/captures'] }] };
  expect(items(await me())).toMatchObject([{ remaining: 1 }, { needs: ['ip'], remaining: null, reserve: kept }]);
  expect(items(await me('?ip=192.0.2.7&limit=200'))).toMatchObject([{ remaining: 1 }, { needs: [], remaining: 3 }]);
  const other = await me('?merchantId=acme');
  expect([other.status, other.body.errors[0].parameter]).toEqual([400, 'merchantId']);
});

test('a merchant that asks for its limits too often is told to wait, and no other one', async () => {
  const keyOf = async (id: string) => {
    await api('POST', '/v1/merchants', { id, name: id });
    return ((await api('POST', `/v1/merchants/${id}/api-keys`, { name: 'shop' })).body as { key: string }).key;
  };
  const [hasty, patient] = [await keyOf('hasty'), await keyOf('patient')];
  const me = (key: string) => api('GET', '/v1/me/limits', undefined, { authorization: `Bearer ${key}` });
  const answers = await Promise.all(Array.from({ length: 40 }, () => me(hasty)));
  const refused = answers.filter(({ status }) => status === 429);
  expect(refused.length).toBeGreaterThan(0);
  expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(20);
  for (const { body, headers } of refused) expect([body.code, headers.get('retry-after')]).toEqual(['me.too_often', '1']);
  expect((await me(patient)).status).toBe(200);
});

test('a gateway knows a merchant by its API key, tells the upstream, and keeps the key to itself', async () => {
  await api('POST', '/v1/merchants', { id: 'keyed', name: 'Keyed' });
  await api('POST', '/v1/merchants/keyed/rules', ruleBody({ name: 'three', limits: LIMITS }));
  const { key } = (await api('POST', '/v1/merchants/keyed/api-keys', { name: 'shop', user: 'u1' })).body as { key: string };
  const headers = { authorization: `Bearer ${key}`, 'x-merchant-id': 'acme', 'x-user-id': 'root' };
  const byKey = async () => (await house.send(gateway, undefined, { headers })).status;
  await until('the rule is in Redis', async () => (await house.snapshots.read('keyed'))?.rules.length === 1);
  house.received.length = 0;
  expect(await byKey()).toBe(200);
  expect(house.received[0]?.headers).toMatchObject({ 'x-merchant-id': 'keyed', 'x-user-id': 'u1' });
  expect(house.received[0]?.headers).not.toHaveProperty('authorization');
  // It is the merchant's bucket, and no other merchant's.
  await until('the bucket of the merchant is empty', async () => (await byKey()) === 429);
  expect(JSON.stringify(gateway.logs)).not.toContain(key.slice(-43));
});

test('an API key is refused at the gateway when it is wrong, whatever else the request says, and soon after it was revoked', async () => {
  await api('POST', '/v1/merchants', { id: 'revoked', name: 'Revoked' });
  // Of the rules for all nothing is left by now.
  const { body: defaults } = await api('GET', '/v1/default-rules');
  for (const rule of (defaults as { items: { id: string }[] }).items)
    await api('DELETE', `/v1/default-rules/${rule.id}`, undefined, { 'if-match': '*' });
  const { key, id } = (await api('POST', '/v1/merchants/revoked/api-keys', { name: 'shop' })).body as { key: string; id: string };
  const byKey = async (text: string) =>
    house.send(gateway, undefined, { headers: { authorization: `Bearer ${text}`, 'x-merchant-id': 'revoked' } });
  await until('the merchant is known', async () => (await byKey(key)).status === 200);
  const wrong = await byKey(key.slice(0, -1) + (key.endsWith('A') ? 'B' : 'A'));
  expect([wrong.status, (JSON.parse(wrong.body) as { code: string }).code]).toEqual([401, 'identity.api_key_invalid']);
  // Another token is none of ours: the header says who it is, and the upstream gets the token.
  expect((await house.send(gateway, 'revoked', { headers: { authorization: 'Bearer of-the-upstream' } })).status).toBe(200);
  expect(house.received.at(-1)?.headers.authorization).toBe('Bearer of-the-upstream');
  await api('DELETE', `/v1/merchants/revoked/api-keys/${id}`);
  await until('the key is refused', async () => (await byKey(key)).status === 401);
});

test('a rule sees the user, the id and the labels of an API key, and is explained with them', async () => {
  await api('POST', '/v1/merchants', { id: 'labelled', name: 'Labelled' });
  const [limit] = LIMITS;
  const perUser = { name: 'a user', layer: 'user', key: ['merchant', 'user', 'apiKey'], limits: [{ ...limit, capacity: 2 }] };
  const match = { all: [{ field: 'apiKey.label.team', equals: 'web' }] };
  await api('POST', '/v1/merchants/labelled/rules', ruleBody({ ...perUser, match }));
  const keyOf = async (user: string, team: string) =>
    (await api('POST', '/v1/merchants/labelled/api-keys', { name: `${user} ${team}`, user, labels: { team } })).body as {
      key: string;
      id: string;
    };
  const [ann, bob, free] = [await keyOf('ann', 'web'), await keyOf('bob', 'web'), await keyOf('ann', 'ops')];
  const by = async ({ key }: { key: string }) =>
    (await house.send(gateway, undefined, { headers: { authorization: `Bearer ${key}` } })).status;
  await until('the rule is in Redis', async () => (await house.snapshots.read('labelled'))?.rules.length === 1);
  await until('ann has spent what she had', async () => (await by(ann)) === 429);
  expect([await by(bob), await by(bob), await by(bob)]).toEqual([200, 200, 429]);
  expect([await by(free), await by(free), await by(free)]).toEqual([200, 200, 200]);
  const explained = async (apiKey: object, user: string) => {
    const request = { method: 'GET', path: '/transactions', user, apiKey };
    return (await api('POST', '/v1/explain', { merchantId: 'labelled', request })).body.verdict as { allowed: boolean };
  };
  expect(await explained({ id: ann.id, labels: { team: 'web' } }, 'ann')).toMatchObject({ allowed: false });
  expect(await explained({ id: ann.id }, 'ann')).toMatchObject({ allowed: true });
  expect(await explained({ id: free.id, labels: { team: 'web' } }, 'ann')).toMatchObject({ allowed: true });
  const listed = (await api('GET', '/v1/merchants/labelled/api-keys?label=team%3Dweb')).body.items as { id: string }[];
  expect(listed.map(({ id }) => id)).toEqual([ann.id, bob.id]);
  // What became of all this, the merchant sees beside its limits.
  await until('the requests are counted', async () => {
    const { items: steps } = (await api('GET', '/v1/merchants/labelled/usage')).body as { items: { passed: number; refused: number }[] };
    return steps.reduce((sum, { passed, refused }) => sum + passed + refused, 0) >= 9;
  });
  const answer = await api('GET', '/v1/me/limits', undefined, { authorization: `Bearer ${ann.key}` });
  const { usage } = (answer.body.items as { usage: Record<string, { passed: number; refused: number }> }[])[0]!;
  expect(usage['lastHour']).toMatchObject({ passed: 4 });
  expect(usage['lastHour']!.refused).toBeGreaterThanOrEqual(2);
  expect(usage['lastDay']).toEqual(usage['lastHour']);
});

describe('a switch', () => {
  const put = async (name: string, body: object) => (await api('PUT', `/v1/switches/${name}`, body)).status;
  const here = (path: string, body?: object, token = MANAGEMENT_TOKEN) =>
    fetch(`${gateway.managementUrl}/switches${path}`, {
      method: body ? 'PUT' : 'GET',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
  const explained = async () => {
    const request = { method: 'GET', path: '/transactions', ip: '127.0.0.1' };
    return (await api('POST', '/v1/explain', { merchantId: 'acme', request })).body as {
      verdict: { allowed: boolean };
      switches: object[];
    };
  };

  beforeAll(() => until('everything is refused', async () => (await send()) === 429));

  test('for the merchant limits nobody while it is on, says so, and gives no token away', async () => {
    expect(await put('kill', { on: true, merchantId: 'acme', reason: 'ticket OPS-17' })).toBe(200);
    await until('it passes', async () => (await send()) === 200);
    for (let i = 0; i < 10; i++) expect(await send()).toBe(200);
    const metrics = await fetch(`${gateway.managementUrl}/metrics`, { headers: { authorization: `Bearer ${MANAGEMENT_TOKEN}` } });
    expect(await metrics.text()).toMatch(/^tollgate_switches\{[^}]*switch="kill"[^}]*\} 1$/m);
    expect(await explained()).toMatchObject({
      verdict: { allowed: true },
      switches: [{ name: 'kill', layer: null, merchantId: 'acme', until: null }],
    });
    expect((await api('GET', '/v1/switches/kill')).body).toMatchObject({
      name: 'kill',
      on: [{ layer: null, merchantId: 'acme', until: null, reason: 'ticket OPS-17', by: 'admin' }],
    });
    expect(await put('kill', { on: false, merchantId: 'acme' })).toBe(200);
    await until('it is refused again', async () => (await send()) === 429);
    expect((await api('GET', '/v1/audit?limit=2')).body).toMatchObject({ items: [{ action: 'switch.off' }, { action: 'switch.on' }] });
  });

  test('ends by itself', async () => {
    expect(await put('shadow', { on: true, merchantId: 'acme', until: new Date(Date.now() + 5_000).toISOString() })).toBe(200);
    await until('it passes', async () => (await send()) === 200);
    await until('it is refused again', async () => (await send()) === 429);
    expect((await api('GET', '/v1/switches/shadow')).body).toMatchObject({ name: 'shadow', on: [] });
    expect((await explained()).switches).toEqual([]);
  });

  test('on the management port is of this gateway alone, and asks for the token', async () => {
    expect((await here('/shadow', { on: true }, 'another')).status).toBe(401);
    expect(await send()).toBe(429);
    expect((await here('/shadow', { on: true })).status).toBe(200);
    expect(await send()).toBe(200);
    expect(await (await here('')).json()).toMatchObject({ on: [{ name: 'shadow', layer: null, merchantId: null }] });
    expect((await here('/shadow', { on: false })).status).toBe(200);
    expect(await send()).toBe(429);
  });

  test.each([
    ['/v1/switches/kill', { on: 'yes' }, 400, 'body.invalid'],
    ['/v1/switches/kill', { on: true, layer: 'planet' }, 400, 'body.invalid'],
    ['/v1/switches/kill', { on: true, until: '2020-01-01T00:00:00Z' }, 400, 'body.invalid'],
    ['/v1/switches/dim', { on: true }, 404, 'switch.not_found'],
  ])('that makes no sense is refused: %s %j', async (path, body, status, code) => {
    expect(await api('PUT', path, body)).toMatchObject({ status, body: { code } });
    const atTheGateway = await here(path.slice('/v1/switches'.length), body);
    expect([atTheGateway.status, ((await atTheGateway.json()) as { code: string }).code]).toEqual([status, code]);
  });
});

import { ruleBody } from '../../support/factories/rules.js';
import { startApp, type RunningApp } from '../../support/processes.js';
import { until } from '../../support/until.js';
import { House } from '../gateway/house.js';
import { ask, type Answer } from '../rules-api/api.js';

/** What the Rules API explains is what a gateway does. */

let house: House;
let rulesApi: RunningApp;
let preloader: RunningApp;
let gateway: RunningApp;
const ids: Record<string, string> = {};

const LIMITS = [{ name: 'burst', algorithm: 'token_bucket', capacity: 2, refillTokens: 1, refillIntervalMs: 86_400_000 }];
const api = (method: string, path: string, body?: unknown): Promise<Answer> => ask(rulesApi.url, method, path, body);

interface Explained {
  verdict: { allowed: boolean; reason: string; status: number; reroutedTo?: string };
  layers: { layer: string; chosen: string | null; considered: { name: string; matched: boolean; why: { code: string } | null }[] }[];
  buckets: { ruleId: string; limit: string; remaining: number; withheld?: number; retryAfterMs: number | null }[];
}
async function explained(request: object): Promise<Explained> {
  const { status, body } = await api('POST', '/v1/explain', { merchantId: 'acme', request });
  expect(status).toBe(200);
  return body as Explained;
}

beforeAll(async () => {
  house = await House.open();
  const stores = { REDIS_URL: house.redisServer.url, DATABASE_URL: house.database.url };
  rulesApi = await startApp('rules-api', { ...stores, BUCKETS_REDIS_URL: house.redisServer.url });
  preloader = await startApp('preloader', stores);
  gateway = await house.gateway({ STORE_TIMEOUT_MS: '5000' });
  await api('POST', '/v1/merchants', { id: 'acme', name: 'Acme' });
  for (const [name, changes] of Object.entries({
    payments: { match: { methods: ['POST'], paths: ['/transactions'] } },
    everything: { priority: 10 },
    off: { enabled: false, priority: 500 },
    trial: { mode: 'shadow', limits: [{ ...LIMITS[0], capacity: 1 }] },
    keeping: {
      layer: 'platform',
      match: { methods: [], paths: ['/kept/**'] },
      limits: [{ ...LIMITS[0], capacity: 3 }],
      reserve: [{ name: 'captures', methods: ['POST'], paths: ['/kept/*/capture'], percent: 33 }],
      onLimit: { reroute: 'slow' },
    },
    'by address': { layer: 'network', key: ['ip'], match: { methods: [], paths: ['/by-address'] } },
  })) {
    ids[name] = ((await api('POST', '/v1/merchants/acme/rules', ruleBody({ name, limits: LIMITS, ...changes }))).body as { id: string }).id;
  }
  await until('the snapshot is in Redis', async () => (await house.snapshots.read('acme'))?.rules.length === 5);
});

afterAll(async () => {
  await Promise.all([rulesApi.kill(), preloader.kill()]);
  await house.close();
});

test('every rule is considered in order, and says why it is not the one', async () => {
  const { verdict, layers, buckets } = await explained({ method: 'GET', path: '/transactions?page=1' });
  expect(verdict).toEqual({ allowed: true, reason: 'allowed', status: 200 });
  expect(
    layers.map(({ layer, chosen, considered }) => [layer, chosen, considered.map(({ name, why }) => [name, why?.code ?? null])]),
  ).toEqual([
    ['platform', null, [['keeping', 'path_differs']]],
    ['network', null, [['by address', 'path_differs']]],
    [
      'merchant',
      ids['everything'],
      [
        ['payments', 'method_differs'],
        ['everything', null],
        ['trial', null],
        ['off', 'disabled'],
      ],
    ],
  ]);
  expect(buckets).toMatchObject([{ ruleId: ids['everything'], limit: 'burst', key: ['merchant'], remaining: 2, retryAfterMs: 0 }]);
});

test('an explanation takes no token, and its verdict is that of the gateway', async () => {
  const request = { method: 'POST', path: '/transactions' };
  const send = async () => (await house.send(gateway, 'acme', { method: 'POST' })).status;
  for (let i = 0; i < 5; i++) expect((await explained(request)).buckets).toMatchObject([{ remaining: 2 }]);
  expect([await send(), await send()]).toEqual([200, 200]);
  const { verdict, buckets } = await explained(request);
  expect(verdict).toEqual({ allowed: false, reason: 'over_limit', status: 429 });
  expect(buckets[0]?.retryAfterMs).toBeGreaterThan(80_000_000);
  expect(await send()).toBe(429);
});

test('what a rule keeps for some routes, and where it sends what is over its limit, is explained as it is enforced', async () => {
  const [other, capture] = ['/kept/7', '/kept/7/capture'].map((path) => ({ method: 'POST', path }));
  const bucketOf = async (request: object) => (await explained(request)).buckets.find(({ ruleId }) => ruleId === ids['keeping']);
  expect([await bucketOf(other!), await bucketOf(capture!)]).toMatchObject([{ remaining: 2, withheld: 1 }, { remaining: 3 }]);
  expect(await bucketOf(capture!)).not.toHaveProperty('withheld');
  const operate = { ruleId: ids['keeping'], limit: 'burst', tokens: -2 };
  expect((await api('POST', '/v1/merchants/acme/buckets/adjust', operate)).status).toBe(200);
  expect(await bucketOf(other!)).toMatchObject({ remaining: 0, withheld: 1, retryAfterMs: expect.any(Number) as number });
  expect((await explained(other!)).verdict).toEqual({ allowed: false, reason: 'over_limit', status: 429, reroutedTo: 'slow' });
  expect(await bucketOf(capture!)).toMatchObject({ remaining: 1, retryAfterMs: 0 });
});

test('an address that the key of a rule needs has to be named', async () => {
  const request = { method: 'GET', path: '/by-address' };
  const missing = await api('POST', '/v1/explain', { merchantId: 'acme', request });
  expect([missing.status, (missing.body as { errors: { pointer: string }[] }).errors[0]?.pointer]).toEqual([400, '/request/ip']);
  expect((await explained({ ...request, ip: '192.0.2.9' })).buckets).toHaveLength(2);
});

test.each([
  [{ request: { method: 'GET', path: '/' } }, '/merchantId'],
  [{ merchantId: 'acme' }, '/request'],
  [{ merchantId: 'acme', request: { method: 'get', path: '/' } }, '/request/method'],
  [{ merchantId: 'acme', request: { method: 'GET', path: 'transactions' } }, '/request/path'],
  [{ merchantId: 'acme', request: { method: 'GET', path: '/', ip: 'localhost' } }, '/request/ip'],
  [{ merchantId: 'acme', request: { method: 'GET', path: '/', color: 'red' } }, '/request/color'],
])('%j is refused, and %s named', async (body, pointer) => {
  const answer = await api('POST', '/v1/explain', body);
  expect(answer.status).toBe(400);
  expect((answer.body as { errors: { pointer: string }[] }).errors.map((error) => error.pointer)).toEqual([pointer]);
});

test('a rule of a plan is enforced for its merchants, explained as such, and an edit of it is felt', async () => {
  const path = '/of-the-plan';
  const rule = (refillIntervalMs: number) =>
    ruleBody({
      name: 'shared',
      layer: 'platform',
      match: { methods: [], paths: [path] },
      limits: [{ ...LIMITS[0], capacity: 1, refillIntervalMs }],
    });
  await api('PUT', '/v1/plans/pro', {});
  const { body: created } = await api('POST', '/v1/plans/pro/rules', rule(86_400_000));
  for (const id of ['one', 'other']) await api('POST', '/v1/merchants', { id, name: id, plan: 'pro' });
  await until('the merchants and their plan are in Redis', async () =>
    Boolean(
      (await house.snapshots.read('one')) &&
      (await house.snapshots.read('other')) &&
      (await house.snapshots.findPlan('pro')).value?.rules.length,
    ),
  );
  const before = await house.snapshots.read('one');
  const send = async (id: string) => (await house.send(gateway, id, { path })).status;
  expect([await send('one'), await send('one'), await send('other')]).toEqual([200, 429, 200]);
  // Merchants without the plan are not concerned.
  expect(await send('acme')).toBe(200);
  const of = (merchantId: string) => api('POST', '/v1/explain', { merchantId, request: { method: 'GET', path } });
  const explanation = (await of('one')).body;
  expect(explanation.verdict.reason).toBe('over_limit');
  expect(explanation.layers.find(({ layer }: { layer: string }) => layer === 'platform')).toMatchObject({
    chosen: created.id,
    considered: [{ ruleId: created.id, source: 'plan', matched: true }],
  });
  const buckets = (await api('GET', '/v1/merchants/one/buckets')).body.items;
  expect(buckets).toMatchObject([{ ruleId: created.id, source: 'plan', remaining: 0 }]);
  const edited = await ask(rulesApi.url, 'PUT', `/v1/plans/pro/rules/${created.id}`, rule(1), { 'if-match': '*' });
  expect(edited.status).toBe(200);
  await until('the edit is felt', async () => (await send('one')) === 200);
  expect(await send('other')).toBe(200);
  expect(await house.snapshots.read('one')).toEqual(before);
});

test('a request of a merchant that does not exist is not explained', async () => {
  expect((await api('POST', '/v1/explain', { merchantId: 'nobody', request: { method: 'GET', path: '/' } })).status).toBe(404);
});

test('an explanation is refused while Redis is away', async () => {
  house.redisServer.freeze();
  try {
    const answer = await api('POST', '/v1/explain', { merchantId: 'acme', request: { method: 'GET', path: '/' } });
    expect([answer.status, (answer.body as { code: string }).code]).toEqual([503, 'buckets.unavailable']);
  } finally {
    house.redisServer.thaw();
  }
});

test('an override is enforced and explained, is deleted or ends by itself, and the history says so', async () => {
  const slow = [{ name: 'burst', algorithm: 'token_bucket', capacity: 2, refillTokens: 1, refillIntervalMs: 10_000 }];
  await api('POST', '/v1/merchants', { id: 'globex', name: 'Globex' });
  const { id: ruleId } = (await api('POST', '/v1/merchants/globex/rules', ruleBody({ limits: slow }))).body as { id: string };
  const send = async () => (await house.send(gateway, 'globex', { method: 'POST' })).status;
  const asked = async () => {
    const { status, body } = await api('POST', '/v1/explain', { merchantId: 'globex', request: { method: 'POST', path: '/transactions' } });
    if (status !== 200) return undefined;
    const { layers, buckets } = body as Explained & { layers: { considered: { override: { id: string } | null }[] }[] };
    return { override: layers[0]!.considered[0]!.override, remaining: buckets[0]!.remaining };
  };
  await until('the rule is enforced', async () => (await house.snapshots.read('globex'))?.rules.length === 1);
  expect([await send(), await send(), await send()]).toEqual([200, 200, 429]);
  const override = async (forMs: number): Promise<string> => {
    const ends = new Date(Date.now() + forMs).toISOString();
    const { status, body } = await api('POST', '/v1/merchants/globex/overrides', { ruleId, multiply: 1000, until: ends, reason: 'a sale' });
    expect(status).toBe(201);
    return body.id as string;
  };
  const id = await override(3_600_000);
  // A thousand times the rate: what it refills within a moment is more than the rule itself would hold.
  await until('the override has refilled the bucket', async () => {
    const now = await asked();
    return now?.override?.id === id && now.remaining >= 20;
  });
  // Until it has heard of the override, the gateway remembers its refusal.
  await until('the gateway has heard of it', async () => (await send()) === 200);
  expect(await Promise.all(Array.from({ length: 10 }, send))).toEqual(Array.from({ length: 10 }, () => 200));
  expect((await api('DELETE', `/v1/merchants/globex/overrides/${id}`)).status).toBe(204);
  // This one is over before anybody could be sure to have seen it in force.
  await override(3_000);
  const history = async () =>
    ((await api('GET', `/v1/merchants/globex/rules/${ruleId}/history`)).body as { items: { action: string; actor: string }[] }).items;
  await until('the history says that it has ended', async () => (await history())[0]?.action === 'override.ended', 30_000);
  expect((await asked())?.override).toBeNull();
  await until('the rule is enforced again', async () => {
    const statuses = await Promise.all(Array.from({ length: 10 }, send));
    return statuses.filter((status) => status === 429).length >= 7;
  });
  expect((await history()).map(({ action, actor }) => [action, actor])).toEqual([
    ['override.ended', 'tollgate'],
    ['override.created', 'admin'],
    ['override.deleted', 'admin'],
    ['override.created', 'admin'],
    ['rule.created', 'admin'],
  ]);
});

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createRedis, RedisTopKeyStore, RedisUsageStore } from '#limiter-redis';
import { createDataSource } from '#rules-db';
import { ruleBody } from '../../support/factories/rules.js';
import { ADMIN_TOKEN, startApp, type RunningApp } from '../../support/processes.js';
import { until } from '../../support/until.js';
import { House } from '../gateway/house.js';
import { ask, type Answer } from '../rules-api/api.js';
import { mismatches, type Schema, type Schemas } from '../rules-api/schema.js';

/** What a gateway decides can be counted and looked up in the Rules API. */

let house: House;
let rulesApi: RunningApp;
let preloader: RunningApp;
let gateway: RunningApp;
let limitedToOther: string;
let ruleId: string;
let receiver: Server;
const told: { type: string; data: Record<string, unknown> }[] = [];
let addressRuleId: string;

const LIMITS = [{ name: 'burst', algorithm: 'token_bucket', capacity: 4, refillTokens: 1, refillIntervalMs: 86_400_000 }];

const api = (method: string, path: string, body?: unknown, bearer?: string): Promise<Answer> =>
  ask(rulesApi.url, method, path, body, bearer === undefined ? {} : { authorization: `Bearer ${bearer}` });
const send = (requestId: string, options: { path?: string; merchantId?: string; through?: RunningApp } = {}) =>
  house.send(options.through ?? gateway, options.merchantId ?? 'acme', {
    path: options.path ?? '/transactions/7?card=4111',
    headers: { 'x-request-id': requestId },
  });

beforeAll(async () => {
  house = await House.open();
  const stores = { REDIS_URL: house.redisServer.url, DATABASE_URL: house.database.url };
  receiver = createServer((request, answer) => {
    let body = '';
    request.on('data', (chunk) => (body += String(chunk)));
    request.on('end', () => {
      told.push(JSON.parse(body) as (typeof told)[0]);
      answer.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  rulesApi = await startApp('rules-api', { ...stores, BUCKETS_REDIS_URL: house.redisServer.url, WEBHOOK_ALLOW_PRIVATE: 'true' });
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  await api('POST', '/v1/webhooks', { url, events: ['limit.80', 'limit.100'] });
  preloader = await startApp('preloader', stores);
  gateway = await house.gateway({ STORE_TIMEOUT_MS: '5000', USAGE_FLUSH_MS: '1000', RECEIPTS_PASSED_ONE_IN: '1' });
  for (const id of ['acme', 'other']) await api('POST', '/v1/merchants', { id, name: id });
  const rule = async (body: Record<string, unknown>) =>
    ((await api('POST', '/v1/merchants/acme/rules', ruleBody(body))).body as { id: string }).id;
  ruleId = await rule({ name: 'payments', limits: LIMITS });
  addressRuleId = await rule({ name: 'by address', layer: 'network', key: ['ip'], limits: LIMITS, match: { paths: ['/by-address'] } });
  const token = { name: 'of other', role: 'viewer', merchants: ['other'] };
  limitedToOther = ((await api('POST', '/v1/tokens', token)).body as { token: string }).token;
  await until('the snapshots are in Redis', async () => (await house.snapshots.read('acme'))?.rules.length === 2);
});

afterAll(async () => {
  await Promise.all([rulesApi.kill(), preloader.kill()]);
  await house.close();
  receiver.closeAllConnections();
  await new Promise((resolve) => void receiver.close(resolve));
});

test('requests are counted by rule and minute, and the rules that refuse most are found', async () => {
  for (let i = 0; i < 6; i++) await send(`counted-${i}`);
  await send('nobody-1', { merchantId: 'nobody' });
  const usage = async (query = '') => (await api('GET', `/v1/merchants/acme/usage${query}`)).body.items as Record<string, unknown>[];
  const sum = (items: Record<string, unknown>[], name: string) => items.reduce((all, item) => all + Number(item[name]), 0);
  await until('they are counted', async () => sum(await usage(), 'passed') + sum(await usage(), 'refused') === 6);
  for (const query of ['?step=minute', '?step=hour', `?since=${encodeURIComponent(new Date(Date.now() - 600_000).toISOString())}`]) {
    const items = await usage(query);
    expect([sum(items, 'passed'), sum(items, 'refused'), Math.min(...items.map((item) => Number(item.leastRemainingPercent)))]).toEqual([
      4, 2, 0,
    ]);
    expect(new Set(items.map((item) => `${String(item.ruleId)} ${String(item.rule)}`))).toEqual(new Set([`${ruleId} payments`]));
  }
  expect(await usage(`?since=${new Date(Date.now() + 3_600_000).toISOString()}`)).toEqual([]);
  expect((await api('GET', '/v1/usage/top')).body).toMatchObject({ items: [{ merchantId: 'acme', ruleId, passed: 4, refused: 2 }] });
  expect((await api('GET', '/v1/usage/top?by=near-limit')).body.items).toEqual([]);
});

test('a refused request has a receipt, without the query and the address of the client, and can be explained by its id', async () => {
  expect((await send('refused-1')).status).toBe(429);
  const receipt = await until(async () => {
    const { status, body } = await api('GET', '/v1/decisions/refused-1');
    return status === 200 && (body as Record<string, unknown>);
  });
  expect(receipt).toMatchObject({
    requestId: 'refused-1',
    merchantId: 'acme',
    allowed: false,
    method: 'GET',
    path: '/transactions/7',
    reason: 'over_limit',
    limits: [
      { ruleId, rule: 'payments', limit: 'burst', capacity: 4, cost: 1, remainingBefore: 0, remainingAfter: 0, key: { merchant: 'acme' } },
    ],
  });
  expect(Math.abs(Date.now() - Date.parse(receipt.at as string))).toBeLessThan(60_000);
  const explained = await api('POST', '/v1/explain', { requestId: 'refused-1' });
  expect([explained.status, explained.body.verdict]).toEqual([200, { allowed: false, reason: 'over_limit', status: 429 }]);

  await send('by-address-1', { path: '/by-address' });
  const key = await until(async () => {
    const { limits = [] } = (await api('GET', '/v1/decisions/by-address-1')).body as { limits?: { ruleId: string; key: object }[] };
    return limits.find((limit) => limit.ruleId === addressRuleId)?.key ?? null;
  });
  expect(key).toEqual({ ip: expect.stringMatching(/^hmac:[\w-]{16}$/) });
  const missing = await api('POST', '/v1/explain', { requestId: 'by-address-1' });
  expect([missing.status, missing.body.errors[0].pointer]).toEqual([400, '/ip']);
  expect((await api('POST', '/v1/explain', { requestId: 'by-address-1', ip: '127.0.0.1' })).status).toBe(200);
});

test('a draft is tried on what gateways recorded', async () => {
  const preview = async (changes: object) => {
    const rule = ruleBody({ name: 'payments', limits: [{ ...LIMITS[0], capacity: 2 }], ...changes });
    return api('POST', '/v1/rules/preview', { merchantId: 'acme', ruleId, rule, sample: 'recorded' });
  };
  const { status, body } = await preview({});
  const { sample, replay } = body as unknown as { sample: Record<string, unknown>; replay: Record<string, number> };
  expect([status, sample]).toMatchObject([200, { weight: { passed: 1, refused: 1 }, leftOut: 0, requests: sample['recorded'] }]);
  expect(replay['refusedThen']! - replay['refusedNow']!).toBe(2);
  expect(JSON.stringify(body)).not.toContain('127.0.0.1');
  const drawn = await fetch(`${rulesApi.url}/v1/rules/preview?format=svg`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ merchantId: 'acme', ruleId, rule: ruleBody({ name: 'payments', limits: LIMITS }), sample: 'recorded' }),
  });
  expect([drawn.status, drawn.headers.get('content-type')]).toEqual([200, 'image/svg+xml']);
  expect(await drawn.text()).toMatch(/^<svg .*requests of acme/);
  const nothing = await api('POST', '/v1/rules/preview?format=svg', { merchantId: 'acme', rule: ruleBody({ name: 'new' }) });
  expect([nothing.status, nothing.body.errors[0].code]).toEqual([400, 'preview.sample.missing']);
  const unseen = await preview({ match: { all: [{ field: 'country', equals: 'DE' }] } });
  expect([unseen.status, unseen.body.errors[0].code]).toEqual([400, 'preview.sample.field_not_recorded']);
});

test('decisions are read as they come, from a cursor on, also by an answer that waits for them', async () => {
  const { cursor } = (await api('GET', '/v1/decisions?limit=1')).body as { cursor: string };
  const waits = api('GET', `/v1/decisions?after=${cursor}&merchant=acme&wait=10`);
  for (const requestId of ['tail-1', 'tail-2']) await send(requestId);
  const first = (await waits).body as { items: { requestId: string }[]; cursor: string };
  const ids = first.items.map(({ requestId }) => requestId);
  expect(ids[0]).toBe('tail-1');
  await until('the other one comes too', async () => {
    const more = (await api('GET', `/v1/decisions?after=${first.cursor}`)).body as { items: { requestId: string }[] };
    return [...ids, ...more.items.map(({ requestId }) => requestId)].includes('tail-2');
  });
  expect((await api('GET', '/v1/decisions?outcome=passed&merchant=acme')).body.items).toMatchObject(Array(4).fill({ allowed: true }));
  expect((await api('GET', '/v1/decisions?merchant=nobody')).body.items).toMatchObject([{ reason: 'unknown_merchant' }]);
});

test('a token that is limited to merchants sees usage and receipts of no other', async () => {
  expect((await api('GET', '/v1/merchants/acme/usage', undefined, limitedToOther)).status).toBe(403);
  expect((await api('GET', '/v1/usage/top', undefined, limitedToOther)).body).toMatchObject({ items: [], other: null });
  expect((await api('GET', '/v1/decisions', undefined, limitedToOther)).body.items).toEqual([]);
  expect((await api('GET', '/v1/decisions?merchant=acme', undefined, limitedToOther)).status).toBe(403);
  expect((await api('GET', '/v1/decisions/refused-1', undefined, limitedToOther)).status).toBe(404);
  expect((await api('POST', '/v1/explain', { requestId: 'refused-1' }, limitedToOther)).status).toBe(404);
});

test.each([
  ['GET', '/v1/decisions?after=x', undefined, 400, 'after'],
  ['GET', '/v1/decisions?wait=11', undefined, 400, 'wait'],
  ['GET', '/v1/decisions/%00', undefined, 404, undefined],
  ['GET', '/v1/usage/top?by=love', undefined, 400, 'by'],
  ['GET', '/v1/merchants/acme/usage?since=yesterday', undefined, 400, 'since'],
  ['GET', '/v1/merchants/nobody/usage', undefined, 404, undefined],
  ['POST', '/v1/explain', { requestId: 'a b' }, 400, '/requestId'],
  ['POST', '/v1/explain', { requestId: 'refused-1', merchantId: 'acme' }, 400, '/merchantId'],
  ['POST', '/v1/explain', { ip: '192.0.2.7', merchantId: 'acme', request: { method: 'GET', path: '/' } }, 400, '/ip'],
] as const)('%s %s with %j answers %i', async (method, path, body, status, where) => {
  const answer = await api(method, path, body);
  expect([answer.status, answer.body.errors?.[0]?.parameter ?? answer.body.errors?.[0]?.pointer]).toEqual([status, where]);
});

test('every answer is what the OpenAPI document says', async () => {
  const { components, paths } = (await api('GET', '/openapi.json')).body as {
    components: { schemas: Schemas };
    paths: Record<string, Record<string, { responses: Record<string, { content: Record<string, { schema: Schema }> }> }>>;
  };
  for (const [template, path] of [
    ['/v1/merchants/{merchantId}/usage', '/v1/merchants/acme/usage'],
    ['/v1/usage/top', '/v1/usage/top'],
    ['/v1/usage/top-keys', '/v1/usage/top-keys'],
    ['/v1/decisions', '/v1/decisions'],
    ['/v1/decisions/{requestId}', '/v1/decisions/refused-1'],
  ] as const) {
    const { status, body } = await api('GET', path);
    expect([path, status]).toEqual([path, 200]);
    const schema = paths[template]!.get!.responses['200']!.content['application/json']!.schema;
    expect([path, mismatches(body, schema, components.schemas)]).toEqual([path, []]);
  }
});

test('a webhook is told once that a limit is nearly used, and that it refuses', async () => {
  await until('both are told', async () => {
    await send(`told-${told.length}`);
    return told.filter(({ data }) => data.ruleId === ruleId).length >= 2;
  });
  const ofRule = told.filter(({ data }) => data.ruleId === ruleId);
  const use = { merchantId: 'acme', ruleId, rule: 'payments', limit: 'burst', capacity: 4, remaining: 0, usedPercent: 100 };
  expect(new Map(ofRule.map(({ type, data }) => [type, data]))).toEqual(
    new Map(['limit.80', 'limit.100'].map((type) => [type, { ...use, at: expect.any(String) as unknown }])),
  );
  expect(ofRule).toHaveLength(2);
  expect(Math.abs(Date.now() - Date.parse(ofRule[0]!.data.at as string))).toBeLessThan(60_000);
});

test('a burst that no client came near within a day is warned of when the rule is written, and not while Redis is away', async () => {
  const limits = [{ ...LIMITS[0], capacity: 1_000, refillIntervalMs: 1_000 }];
  const body = ruleBody({ name: 'roomy', limits, match: { paths: ['/roomy'] } });
  const made = (await api('POST', '/v1/merchants/other/rules', body)).body as { id: string };
  const path = `/v1/merchants/other/rules/${made.id}`;
  const dataSource = await createDataSource(house.database.url).initialize();
  const redis = createRedis(house.redisServer.url, 'limiter');
  try {
    await new Promise((resolve) => redis.once('ready', resolve));
    const put = () => ask(rulesApi.url, 'PUT', path, body, { 'if-match': '*' });
    const codes = ({ body: rule }: Answer) => ((rule.warnings ?? []) as { code: string }[]).map(({ code }) => code);
    // The last row that the audit has of the rule says so.
    const standsForTwoDays = () =>
      dataSource.query(
        `INSERT INTO audit (at, actor, action, merchant_id, rule_id, after)
         SELECT now() - interval '2 days', 'x', 'rule.replaced', merchant_id, rule_id, after FROM audit WHERE rule_id = $1 ORDER BY seq DESC LIMIT 1`,
        [made.id],
      );
    let number = 0;
    const count = async (hour: number, leastPercent: number) => {
      const rules = [{ ruleId: made.id, passed: 4, refused: 0, shadowRefused: 0, leastPercent }];
      const batch = { gateway: 'yesterday', number: ++number, merchants: [{ merchantId: 'other', rules }] };
      await new RedisUsageStore(redis).add(batch, hour * 3_600_000 + 1_800_000);
    };
    for (let hour = 0; hour < 23; hour++) await count(hour, 98);
    await standsForTwoDays();
    expect([codes(await api('GET', path)), codes(await put())]).toEqual([[], []]);
    await count(23, 97);
    await standsForTwoDays();
    expect((await api('GET', path)).body.warnings).toEqual([
      {
        code: 'limit.capacity.unused',
        pointer: '/limits/0/capacity',
        detail: expect.stringContaining('at most 30 of the limit "burst"') as string,
      },
    ]);
    expect(codes(await put())).toEqual(['limit.capacity.unused']);
    house.redisServer.freeze();
    try {
      expect([(await put()).status, codes(await api('GET', path))]).toEqual([200, []]);
    } finally {
      house.redisServer.thaw();
    }
    await count(0, 10);
    expect(codes(await put())).toEqual([]);
  } finally {
    redis.disconnect();
    await dataSource.destroy();
  }
});

test('the rules of a plan have their names in the usage of its merchants', async () => {
  await api('PUT', '/v1/plans/pro', { note: 'x' });
  const made = (await api('POST', '/v1/plans/pro/rules', ruleBody({ name: 'of all' }))).body as { id: string };
  await api('POST', '/v1/merchants', { id: 'of-pro', name: 'x', plan: 'pro' });
  const redis = createRedis(house.redisServer.url, 'limiter');
  try {
    await new Promise((resolve) => redis.once('ready', resolve));
    const rules = [{ ruleId: made.id, passed: 4, refused: 0, shadowRefused: 0, leastPercent: 60 }];
    await new RedisUsageStore(redis).add({ gateway: 'of-pro', number: 1, merchants: [{ merchantId: 'of-pro', rules }] }, 0);
  } finally {
    redis.disconnect();
  }
  expect((await api('GET', '/v1/merchants/of-pro/usage')).body.items).toMatchObject([{ ruleId: made.id, rule: 'of all', passed: 4 }]);
});

test('keys that ask most and are refused most are ranked, and a limited token sees those of its merchants', async () => {
  const redis = createRedis(house.redisServer.url, 'limiter');
  const counted = (merchantId: string, user: string, rank: 'requests' | 'refused', count: number) =>
    ({ merchantId, ruleId: addressRuleId, key: { merchant: merchantId, user }, rank, count }) as const;
  try {
    await new Promise((resolve) => redis.once('ready', resolve));
    await new RedisTopKeyStore(redis).add([
      counted('acme', 'ann', 'refused', 5),
      counted('acme', 'bob', 'requests', 90),
      counted('other', 'cyd', 'refused', 7),
    ]);
  } finally {
    redis.disconnect();
  }
  const ranked = async (query = '', bearer?: string) => {
    const { body } = await api('GET', `/v1/usage/top-keys${query}`, undefined, bearer);
    return (body.items as { merchantId: string; key: { user: string }; count: number }[]).map(({ key, count }) => [key.user, count]);
  };
  expect(await ranked()).toEqual([
    ['cyd', 7],
    ['ann', 5],
  ]);
  expect(await ranked('?limit=1')).toEqual([['cyd', 7]]);
  expect(await ranked('?merchant=acme')).toEqual([['ann', 5]]);
  expect(await ranked('?by=requests')).toEqual([['bob', 90]]);
  expect(await ranked(`?since=${new Date(Date.now() + 3_600_000).toISOString()}`)).toEqual([]);
  expect(await ranked('', limitedToOther)).toEqual([['cyd', 7]]);
  expect((await api('GET', '/v1/usage/top-keys?merchant=acme', undefined, limitedToOther)).status).toBe(403);
  expect((await api('GET', '/v1/usage/top-keys?by=love')).body.errors[0].parameter).toBe('by');
});

test('usage and receipts answer 503 while Redis is away', async () => {
  house.redisServer.freeze();
  try {
    const paths = ['/v1/decisions', '/v1/decisions/refused-1', '/v1/usage/top', '/v1/usage/top-keys', '/v1/merchants/acme/usage'];
    const answers = await Promise.all(paths.map((path) => api('GET', path)));
    expect(answers.map(({ status, body }) => [status, body.code])).toEqual(paths.map(() => [503, 'buckets.unavailable']));
  } finally {
    house.redisServer.thaw();
  }
});

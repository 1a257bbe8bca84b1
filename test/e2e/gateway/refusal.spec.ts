import { startLimits } from '#limiter';
import { burst } from '#limiter/testing';
import type { RunningApp } from '../../support/processes.js';
import { until } from '../../support/until.js';
import { rule } from '../../support/factories/rules.js';
import { rewound } from '../../support/rewound.js';
import { type Answer, House } from './house.js';

let house: House;
let gateway: RunningApp;

beforeAll(async () => {
  house = await House.open();
  gateway = await house.gateway({ STORE_TIMEOUT_MS: '5000' });
});

afterAll(() => house.close());

test('a passing request shows what is left, a refused one when to come back', async () => {
  await house.write('headers', [rule({ capacity: 2, refillTokens: 1, refillIntervalMs: 60_000 })]);
  const startMs = performance.now();
  /** As it would be if no second had passed. */
  const send = async (headers = {}): Promise<Answer> =>
    JSON.parse(rewound(JSON.stringify(await house.send(gateway, 'headers', { headers })), startMs, 60)) as Answer;
  const passed = await send();
  expect(passed).toMatchObject({
    status: 200,
    body: '{"ok":true}',
    headers: { 'ratelimit-policy': '"burst";q=2;w=120', ratelimit: '"burst";r=1;t=60' },
  });
  await send();
  const refused = await send({ 'x-request-id': 'mine' });
  expect(refused).toMatchObject({
    status: 429,
    headers: { 'content-type': 'application/problem+json', 'retry-after': '60', ratelimit: '"burst";r=0;t=60', 'x-request-id': 'mine' },
  });
  expect(JSON.parse(refused.body)).toEqual({
    type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
    code: 'quota.exceeded',
    title: 'Quota exceeded',
    status: 429,
    detail: 'Too many requests: burst. Try again in 60 s.',
    'violated-policies': ['burst'],
    rule: '1',
    ruleName: 'card payments',
    requestId: 'mine',
  });
});

test('several limits take all or nothing, and the headers tell them apart', async () => {
  const limits = startLimits(
    [
      burst({ name: 'second', capacity: 2, refillTokens: 2, refillIntervalMs: 60_000 }),
      burst({ name: 'minute', capacity: 5, refillTokens: 5, refillIntervalMs: 600_000 }),
    ],
    0,
  );
  await house.write('compound', [
    rule({ limits }),
    rule({ id: '2', layer: 'user', limits: startLimits([burst({ name: 'second', capacity: 100 })], 0) }),
  ]);
  const startMs = performance.now();
  await house.send(gateway, 'compound');
  await house.send(gateway, 'compound');
  for (let i = 0; i < 3; i++) {
    const { status, headers, body } = await house.send(gateway, 'compound');
    expect(status).toBe(429);
    expect(headers['ratelimit-policy']).toBe('"second-1";q=2;w=60, "minute";q=5;w=600, "second-2";q=100;w=20');
    expect(rewound(String(headers['ratelimit']), startMs, 30)).toMatch(
      /^"second-1";r=0;t=30, "minute";r=3;t=1[12]\d, "second-2";r=(98|99|100)(;t=1)?$/,
    );
    expect(JSON.parse(body)['violated-policies']).toEqual(['second-1']);
  }
});

test('a request that can never pass is told so, without Retry-After', async () => {
  await house.write('never', [rule({ cost: 11 })]);
  const { status, headers, body } = await house.send(gateway, 'never');
  expect(status).toBe(429);
  expect(headers['retry-after']).toBeUndefined();
  expect(body).toContain('waiting does not help');
});

test('a shadow rule refuses nothing and is counted', async () => {
  await house.write('shadow', [rule({ capacity: 1, mode: 'shadow', refillIntervalMs: 60_000 })]);
  for (let i = 0; i < 3; i++) expect((await house.send(gateway, 'shadow')).status).toBe(200);
  expect(await house.metric(gateway, /^tollgate_shadow_refusals_total/)).toBe(2);
});

test('a request that no rule concerns passes without headers of a limit', async () => {
  await house.write('unmatched', [rule({ match: { methods: ['POST'], paths: ['/transactions/**'] } })]);
  const { status, headers } = await house.send(gateway, 'unmatched');
  expect(status).toBe(200);
  expect(headers['ratelimit']).toBeUndefined();
});

const once = (path: string) => rule({ capacity: 1, refillTokens: 1, refillIntervalMs: 600_000, match: { methods: [], paths: [path] } });

test('no spelling of a path gets past its rule: what servers read differently is refused with 400', async () => {
  await house.write('paths', [once('/transactions/**')]);
  await house.send(gateway, 'paths');
  for (const path of ['/transactions', '/transactions/', '/transactions/%40', '/transactions?a=b']) {
    expect([path, (await house.send(gateway, 'paths', { path })).status]).toEqual([path, 429]);
  }
  const received = house.received.length;
  for (const path of [
    '//transactions',
    '/x/../transactions/1',
    '/%74ransactions',
    '/transactions%2F1',
    '/./transactions/1',
    '/graphql/..%2fx',
    '/transactions;a=b',
    '/graphql/..%5cx',
    '/caf%e9',
  ]) {
    const { status, headers, body } = await house.send(gateway, 'paths', { path });
    expect([path, status, headers['content-type']]).toEqual([path, 400, 'application/problem+json']);
    expect(JSON.parse(body)).toMatchObject({ rule: expect.stringMatching(/^[a-z0-9-]+$/) });
  }
  expect(house.received.length).toBe(received);
});

test('by setting, paths are normalized for the rules and for the upstream alike, exceptions and case included', async () => {
  const lenient = await house.gateway({
    PATH_POLICY: 'normalize',
    PATH_POLICY_EXCEPTIONS: 'encoded-slashes:/objects/**',
    PATH_CASE_SENSITIVE: 'false',
    STORE_TIMEOUT_MS: '5000',
  });
  await house.write('normalized', [once('/transactions/**')]);
  await house.send(lenient, 'normalized');
  for (const path of ['//transactions', '/x/..%2ftransactions/1', '/%74ransactions', '/TRANSACTIONS;a=b']) {
    expect([path, (await house.send(lenient, 'normalized', { path })).status]).toEqual([path, 429]);
  }
  for (const [path, forwarded] of [
    ['/graphql/..%2fx?y=%2f..', '/x?y=%2f..'],
    ['/objects/a%2fb', '/objects/a%2Fb'],
  ] as const) {
    expect((await house.send(lenient, 'normalized', { path })).status).toBe(200);
    expect(house.received.at(-1)!.url).toBe(forwarded);
  }
});

test('HEAD is limited by the rules for GET', async () => {
  await house.write('heads', [rule({ capacity: 1, refillTokens: 1, refillIntervalMs: 600_000, match: { methods: ['GET'], paths: [] } })]);
  expect((await house.send(gateway, 'heads')).status).toBe(200);
  expect((await house.send(gateway, 'heads', { method: 'HEAD' })).status).toBe(429);
  expect((await house.send(gateway, 'heads', { method: 'POST' })).status).toBe(200);
});

describe('who is asking', () => {
  test('a request that names no merchant is answered with 401', async () => {
    const { status, headers, body } = await house.send(gateway, undefined);
    expect(status).toBe(401);
    expect(headers['content-type']).toBe('application/problem+json');
    expect(headers['www-authenticate']).toBeDefined();
    expect(JSON.parse(body).detail).toContain('the header X-Merchant-Id from a trusted address');
  });

  test('a merchant that does not exist gets 403 until it is created', async () => {
    expect((await house.send(gateway, 'nobody')).status).toBe(403);
    await house.write('nobody', [rule()]);
    await until(async () => expect((await house.send(gateway, 'nobody')).status).toBe(200));
    await house.write('nobody', [], { exists: false });
    await until(async () => expect((await house.send(gateway, 'nobody')).status).toBe(403));
  });

  test('an identity from a peer that is not trusted is answered with 401', async () => {
    const strict = await house.gateway({ TRUSTED_PROXIES: '192.0.2.0/24' });
    const { status, body } = await house.send(strict, 'headers');
    expect(status).toBe(401);
    expect(JSON.parse(body).detail).toContain('not believed');
  });

  test('unknown merchants may get the default rules, by setting', async () => {
    const generous = await house.gateway({ UNKNOWN_MERCHANT: 'default', STORE_TIMEOUT_MS: '5000' });
    await house.snapshots.writeDefaultRules({
      version: 1,
      rules: [rule({ id: '9', layer: 'platform', capacity: 1, refillTokens: 1, refillIntervalMs: 600_000 })],
    });
    await house.snapshots.announce([null]);
    await until(async () => expect((await house.send(generous, 'stranger')).headers['ratelimit-policy']).toBe('"burst";q=1;w=600'));
    expect((await house.send(generous, 'stranger')).status).toBe(429);
    expect((await house.send(generous, 'another stranger')).status).toBe(200);
    await house.snapshots.writeDefaultRules({ version: 2, rules: [] });
    await house.snapshots.announce([null]);
    await until(async () => expect((await house.send(generous, 'stranger')).headers['ratelimit-policy']).toBeUndefined());
  });

  // Each of these is another merchant, with a bucket of its own.
  test('odd ids do not share a bucket', async () => {
    const ids = [
      'a:b',
      'a{b',
      'a}b',
      '{a}b',
      'a b',
      'a  b',
      'a"b',
      "a'b",
      'a%b',
      'a%0020b',
      'ä',
      'a\\b',
      '🦊',
      '🦊🦊',
      'a*',
      '*',
      'A:B',
      '__proto__',
      'constructor',
    ];
    for (const id of ids) await house.write(id, [rule({ capacity: 1, refillTokens: 1, refillIntervalMs: 600_000 })]);
    for (const id of ids) expect([id, (await house.send(gateway, id)).status]).toEqual([id, 200]);
    for (const id of ids) expect([id, (await house.send(gateway, id)).status]).toEqual([id, 429]);
  });
});

describe('a rule with conditions', () => {
  const LIMIT = { capacity: 1, refillTokens: 1, refillIntervalMs: 3_600_000 };
  const statuses = async (merchantId: string, requests: readonly Parameters<House['send']>[2][]) => {
    const found: number[] = [];
    for (const request of requests) found.push((await house.send(gateway, merchantId, request)).status);
    return found;
  };

  test('is enforced for the requests that fulfil them, however a client repeats or hides what it says', async () => {
    const all = [
      {
        any: [
          { field: 'header.X-Channel', equals: 'web' },
          { field: 'query.channel', equals: 'web' },
          { field: 'cookie.channel', equals: 'web' },
        ],
      },
      { not: { field: 'host', endsWith: '.internal' } },
    ];
    await house.write('conditions', [rule({ ...LIMIT, match: { methods: [], paths: [], all } })]);
    const web = { headers: { 'x-channel': 'web' } };
    expect(await statuses('conditions', [web, {}, web])).toEqual([200, 200, 429]);
    expect(
      await statuses('conditions', [
        { headers: { 'X-CHANNEL': ['app', 'web'] } },
        { path: '/transactions?channel=app&ch%61nnel=web' },
        { headers: { cookie: 'a=b; channel=web' } },
        { headers: { ...web.headers, host: 'API.INTERNAL.:80' } },
        { headers: { x_channel: 'web' } },
      ]),
    ).toEqual([429, 429, 429, 200, 200]);
  });

  test('has buckets of its own for each value of its key, and for none', async () => {
    await house.write('keys', [rule({ ...LIMIT, key: ['merchant', 'header.x-device-id'] })]);
    const of = (...values: string[]) => ({ headers: { 'x-device-id': values } });
    const bytes = Buffer.from('gerät', 'utf8').toString('latin1');
    expect(await statuses('keys', [{}, of(''), of('a'), of('a', 'a'), of('a, a'), of(bytes)])).toEqual([200, 200, 200, 200, 200, 200]);
    expect(await statuses('keys', [{}, of(''), of('a'), of('a', 'a'), of('a, a'), of(bytes)])).toEqual([429, 429, 429, 429, 429, 429]);
    expect((await house.redis.keys('tg:{keys}*')).every((key) => !key.includes('ger'))).toBe(true);
  });

  test('begins at its time, and one that only a newer gateway can read counts by its onStoreFailure', async () => {
    const [past, future] = [-1, 1].map((days) => new Date(Date.now() + days * 86_400_000).toISOString());
    await house.write('times', [
      rule({ ...LIMIT, validFrom: past!, validTo: future! }),
      rule({ ...LIMIT, id: '2', layer: 'user', validFrom: future! }),
    ]);
    expect(await statuses('times', [{}, {}])).toEqual([200, 429]);
    const newer = { id: '9', language: 99, onStoreFailure: 'closed' as const, match: { methods: [], paths: ['/closed'] } };
    await house.snapshots.write(
      [{ merchantId: 'later', version: 1, exists: true, timeZone: 'Etc/UTC', rules: [], newerRules: [newer] }],
      3_600_000,
    );
    expect(await statuses('later', [{ path: '/closed' }, { path: '/open' }])).toEqual([503, 200]);
    expect(await house.metric(gateway, /^tollgate_ignored_messages_total\{kind="rule",reason="newer_format"/)).toBe(1);
  });
});

test('headers, pages and retries are as the operator has configured them', async () => {
  await house.write('configured', [rule({ capacity: 1, refillTokens: 1, refillIntervalMs: 3_600_000 })]);
  const configured = await house.gateway({
    RATE_LIMIT_HEADERS: 'legacy',
    REFUSAL_HTML: 'built-in',
    REFUSAL_CORS_ORIGINS: 'https://shop.example',
    IDEMPOTENCY_WINDOW_MS: '3600000',
    STORE_TIMEOUT_MS: '5000',
  });
  const passed = await house.send(configured, 'configured');
  expect(passed).toMatchObject({ status: 200, headers: { 'x-ratelimit-limit': '1', 'x-ratelimit-remaining': '0' } });
  expect(passed.headers['ratelimit']).toBeUndefined();
  const page = await house.send(configured, 'configured', { headers: { accept: 'text/html,*/*;q=0.8' } });
  expect(page).toMatchObject({ status: 429, headers: { 'content-type': 'text/html; charset=utf-8', 'x-ratelimit-remaining': '0' } });
  expect(page.body).toContain('<h1>Quota exceeded</h1>');
  const { headers: problem } = await house.send(configured, 'configured', { headers: { origin: 'https://shop.example' } });
  expect(problem).toMatchObject({ 'content-type': 'application/problem+json', 'access-control-allow-origin': 'https://shop.example' });
  expect(problem['access-control-expose-headers']).toMatch(/^X-RateLimit-Limit, .*Retry-After, X-Request-Id$/);

  await house.write('retries', [rule({ capacity: 2, refillTokens: 1, refillIntervalMs: 3_600_000 })]);
  const remaining = async (key?: string): Promise<unknown> => {
    const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key };
    const { status, headers: told } = await house.send(configured, 'retries', { headers });
    return [status, told['x-ratelimit-remaining']];
  };
  expect(await remaining('a')).toEqual([200, '1']);
  expect(await remaining('a')).toEqual([200, '1']);
  expect(await remaining('b')).toEqual([200, '0']);
  expect(await remaining('a')).toEqual([200, '0']);
  expect(await remaining()).toEqual([429, '0']);
});

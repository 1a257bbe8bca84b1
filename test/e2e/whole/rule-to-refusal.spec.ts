import { ADMIN_TOKEN, startApp, type RunningApp } from '../../support/processes.js';
import { listedMetrics, servedMetrics } from '../../support/metric-list.js';
import { rewound } from '../../support/rewound.js';
import { attributesOf, traceReceiver, type TraceReceiver } from '../../support/trace-receiver.js';
import { until } from '../../support/until.js';
import { House } from '../gateway/house.js';

let house: House;
let rulesApi: RunningApp;
let preloader: RunningApp;
let gateways: RunningApp[];
let collector: TraceReceiver;

beforeAll(async () => {
  house = await House.open();
  const stores = { REDIS_URL: house.redisServer.url, DATABASE_URL: house.database.url };
  rulesApi = await startApp('rules-api', stores);
  preloader = await startApp('preloader', stores);
  collector = await traceReceiver();
  const seeing = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_TRACES_SAMPLER_ARG: '1', ACCESS_LOG: 'true' };
  gateways = [await house.gateway({ STORE_TIMEOUT_MS: '5000' }), await house.gateway({ STORE_TIMEOUT_MS: '5000', ...seeing })];
});

afterAll(async () => {
  await Promise.all([rulesApi.kill(), preloader.kill()]);
  await house.close();
  collector.close();
});

const limit = (capacity: number) => ({ name: 'burst', algorithm: 'token_bucket', capacity, refillTokens: 1, refillIntervalMs: 600_000 });

async function call(
  method: string,
  path: string,
  body?: unknown,
  etag?: string,
): Promise<{ status: number; etag: string; body: { id: string } }> {
  const response = await fetch(rulesApi.url + path, {
    method,
    headers: {
      authorization: `Bearer ${ADMIN_TOKEN}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(etag && { 'if-match': etag }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    etag: response.headers.get('etag') ?? '',
    body: text ? (JSON.parse(text) as { id: string }) : { id: '' },
  };
}

/** A merchant with one rule, which Redis has: asked earlier, a gateway may find the merchant without it, for as long as an edit may take. */
async function merchantWith(id: string, rule: object, merchant: object = {}) {
  await call('POST', '/v1/merchants', { id, name: id, ...merchant });
  const created = await call('POST', `/v1/merchants/${id}/rules`, { name: 'all', ...rule });
  expect(created.status).toBe(201);
  await until(async () => expect((await house.snapshots.read(id))?.rules).toHaveLength(1));
  return created;
}

test('the whole path: a rule is written, a burst passes, what is over is refused, an edit is felt within two seconds', async () => {
  expect((await call('POST', '/v1/merchants', { id: 'acme', name: 'Acme' })).status).toBe(201);
  const created = await call('POST', '/v1/merchants/acme/rules', {
    name: 'card payments',
    match: { methods: ['POST'], paths: ['/transactions/**'] },
    limits: [limit(3)],
  });
  expect(created.status).toBe(201);

  const post = (gateway: RunningApp) =>
    house.send(gateway, 'acme', { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } });
  await until(async () => expect((await post(gateways[0]!)).headers['ratelimit-policy']).toBe('"burst";q=3;w=1800'), 10_000);
  const statuses: number[] = [];
  for (let i = 0; i < 5; i++) statuses.push((await post(gateways[i % 2]!)).status);
  expect(statuses).toEqual([200, 200, 429, 429, 429]);
  expect((await house.send(gateways[0]!, 'acme')).status).toBe(200);

  const edited = await call(
    'PUT',
    `/v1/merchants/acme/rules/${created.body.id}`,
    { name: 'card payments', match: { methods: ['POST'], paths: ['/transactions/**'] }, limits: [limit(50)] },
    created.etag,
  );
  expect(edited.status).toBe(200);
  for (const gateway of gateways) {
    await until(async () => expect((await post(gateway)).headers['ratelimit-policy']).toBe('"burst";q=50;w=30000'), 2000);
    // Wider, but as empty as it was.
    expect((await post(gateway)).status).toBe(429);
  }
});

describe('every algorithm, from the rule to the refusal', () => {
  const HOUR_MS = 3_600_000;
  test.each([
    ['token_bucket', { capacity: 2, refillTokens: 2, refillIntervalMs: HOUR_MS }, 'q=2;w=3600', 'r=0;t=1800', 1800],
    ['gcra', { capacity: 2, refillTokens: 2, refillIntervalMs: HOUR_MS }, 'q=2;w=3600', 'r=0;t=1800', 1800],
    ['leaky_bucket', { capacity: 2, drainTokens: 2, drainIntervalMs: HOUR_MS }, 'q=2;w=3600', 'r=0;t=1800', 1800],
    ['fixed_window', { limit: 2, windowMs: HOUR_MS, start: 'first_request' }, 'q=2;w=3600', 'r=0;t=3600', 3600],
    ['fixed_window', { limit: 2, calendar: 'month' }, 'q=2;w=2678400', 'r=0;t=', 0],
    ['sliding_log', { limit: 2, windowMs: HOUR_MS }, 'q=2;w=3600', 'r=0;t=3600', 3600],
    ['sliding_counter', { limit: 2, windowMs: HOUR_MS, parts: 6 }, 'q=2;w=3600', 'r=0;t=', 0],
  ])('%s %j', async (algorithm, numbers, policy, state, seconds) => {
    const id = `${algorithm}-${Object.keys(numbers).length}`;
    await merchantWith(id, { limits: [{ name: 'l', algorithm, ...numbers }] }, { timeZone: 'America/New_York' });
    const answers: Awaited<ReturnType<House['send']>>[] = [];
    const startMs = performance.now();
    for (let i = 0; i < 3; i++) answers.push(await house.send(gateways[i % 2]!, id));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    const { headers } = answers[2]!;
    expect(headers['ratelimit-policy']).toBe(`"l";${policy}`);
    expect(rewound(String(headers['ratelimit']), startMs, seconds)).toContain(`"l";${state}`);
    expect(Number(headers['retry-after'])).toBeGreaterThan(0);
  });
});

test('C3: a limit of 0 refuses everything, and names no time at which it would not', async () => {
  const none = { name: 'none', algorithm: 'fixed_window', limit: 0, calendar: 'year' };
  await merchantWith('nobody', { limits: [{ ...limit(0), name: 'bucket' }, none] });
  for (const gateway of gateways) {
    const { status, headers, body } = await house.send(gateway, 'nobody');
    expect([status, headers['retry-after']]).toEqual([429, undefined]);
    expect(headers['ratelimit-policy']).toBe('"bucket";q=0;w=600, "none";q=0;w=31622400');
    expect(headers['ratelimit']).toBe('"bucket";r=0, "none";r=0');
    expect(JSON.parse(body)).toMatchObject({
      'violated-policies': ['bucket', 'none'],
      detail: expect.stringContaining('waiting does not help') as string,
    });
  }
});

test('a leaky bucket as a queue delays requests above its rate, in order, and refuses those that would wait too long', async () => {
  const limit = {
    name: 'smooth',
    algorithm: 'leaky_bucket',
    capacity: 100,
    drainTokens: 5,
    drainIntervalMs: 1000,
    onLimit: { delay: { maxWaitMs: 700 } },
  };
  await merchantWith('queue', { limits: [limit] });
  /** So many that some are refused however slowly they come. */
  const REQUESTS = 40;
  const order: string[] = [];
  const before = house.received.length;
  const answers = await Promise.all(
    Array.from({ length: REQUESTS }, (_, i) => house.send(gateways[0]!, 'queue', { path: `/transactions/${i}` })),
  );
  for (const { url } of house.received.slice(before)) order.push(url!);
  const [passed, refused] = [200, 429].map((status) =>
    answers
      .filter((answer) => answer.status === status)
      .map(({ ms }) => ms)
      .sort((a, b) => a - b),
  ) as [number[], number[]];
  expect(passed.length + refused.length).toBe(REQUESTS);
  // Those that wait 0, 200, 400 and 600 ms, and what has left the queue before a busy machine had decided about the last one.
  expect(passed.length).toBeGreaterThanOrEqual(4);
  expect(passed.length).toBeLessThanOrEqual(4 + Math.floor((refused.at(-1)! + 100) / 200));
  // Never early; how late a busy machine is, nobody knows.
  expect(passed.every((ms, i) => ms >= i * 200 - 50)).toBe(true);
  expect(order).toHaveLength(passed.length);
  expect(answers.find(({ status }) => status === 429)!.headers['retry-after']).toBe('1');
});

test('a soft limit lets its excess pass, and says so', async () => {
  const limit = { name: 'soft', algorithm: 'fixed_window', limit: 10, calendar: 'month', throttle: 'soft', excessPercent: 20 };
  await merchantWith('soft', { limits: [limit] });
  const answers: Awaited<ReturnType<House['send']>>[] = [];
  for (let i = 0; i < 13; i++) answers.push(await house.send(gateways[i % 2]!, 'soft'));
  expect(answers.map(({ status }) => status)).toEqual([...Array<number>(12).fill(200), 429]);
  expect(answers.map(({ headers }) => headers['x-ratelimit-over-limit'])).toEqual([
    ...Array<undefined>(10).fill(undefined),
    '"soft"',
    '"soft"',
    undefined,
  ]);
  expect(
    (await house.metric(gateways[0]!, /^tollgate_over_limit_total/)) + (await house.metric(gateways[1]!, /^tollgate_over_limit_total/)),
  ).toBe(2);
});

test('a penalty blocks a client that is refused too often, and says so', async () => {
  const penalty = { refusals: 3, windowMs: 600_000, blockMs: 3_600_000 };
  const rule = await merchantWith('stubborn', { limits: [limit(1)], penalty });
  expect(rule.body).toMatchObject({ penalty });
  const answers: Awaited<ReturnType<House['send']>>[] = [];
  const startMs = performance.now();
  // One gateway: where several refuse, each from its memory, the block may begin a quarter of a second later.
  for (let i = 0; i < 5; i++) answers.push(await house.send(gateways[1]!, 'stubborn'));
  const detail = (i: number): string => rewound((JSON.parse(answers[i]!.body) as { detail: string }).detail, startMs, 600, 3600);
  const retryAfter = ({ headers }: (typeof answers)[0]): string => rewound(String(headers['retry-after']), startMs, 600, 3600);
  expect(answers.map((answer) => [answer.status, retryAfter(answer)])).toEqual([
    [200, 'undefined'],
    [429, '600'],
    [429, '600'],
    [429, '3600'],
    [429, '3600'],
  ]);
  expect(detail(1)).toBe('Too many requests: burst. Try again in 600 s.');
  expect(detail(3)).toBe('Too many requests: burst. That was refused too often: everything is blocked now. Try again in 3600 s.');
  expect(detail(4)).toBe('Blocked, because too many requests were refused. Try again in 3600 s.');
  expect(await house.metric(gateways[1]!, /^tollgate_blocks_total\b/)).toBe(1);
  expect(retryAfter(await house.send(gateways[0]!, 'stubborn'))).toBe('3600');
  expect(await house.metric(gateways[0]!, /^tollgate_decisions_total\{reason="blocked"/)).toBe(1);
});

test('a deleted merchant is unknown within two seconds, and comes back with full buckets of its new rules', async () => {
  const merchant = await call('POST', '/v1/merchants', { id: 'fleeting', name: 'Fleeting' });
  await until(async () => expect((await house.send(gateways[1]!, 'fleeting')).status).toBe(200), 10_000);
  expect((await call('DELETE', '/v1/merchants/fleeting', undefined, merchant.etag)).status).toBe(204);
  await until(async () => expect((await house.send(gateways[1]!, 'fleeting')).status).toBe(403), 2000);
  await call('POST', '/v1/merchants', { id: 'fleeting', name: 'Fleeting again' });
  await call('POST', '/v1/merchants/fleeting/rules', { name: 'all', limits: [limit(1)] });
  await until(
    async () => expect((await house.send(gateways[1]!, 'fleeting')).headers['ratelimit-policy']).toBe('"burst";q=1;w=600'),
    10_000,
  );
  expect((await house.send(gateways[1]!, 'fleeting')).status).toBe(429);
});

test('a default rule reaches every merchant', async () => {
  const rule = await call('POST', '/v1/default-rules', {
    name: 'platform ceiling',
    layer: 'platform',
    limits: [{ ...limit(1000), name: 'ceiling' }],
  });
  expect(rule.status).toBe(201);
  for (const gateway of gateways) {
    await until(
      async () => expect((await house.send(gateway, 'acme')).headers['ratelimit-policy']).toBe('"ceiling";q=1000;w=600000'),
      10_000,
    );
  }
});

test('a request is traced from the client to Redis to the upstream, as one trace', async () => {
  await merchantWith('traced', { limits: [limit(1)] });
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
  const headers = { traceparent: `00-${traceId}-00f067aa0ba902b7-01`, tracestate: 'vendor=1', authorization: 'Bearer s3cret' };
  const passed = await house.send(gateways[1]!, 'traced', { path: '/transactions?card=visa4111x', headers });
  const refused = await house.send(gateways[1]!, 'traced', { headers });
  expect([passed.status, refused.status]).toEqual([200, 429]);
  const spans = () => collector.spans.filter((span) => span.traceId === traceId);
  await until(() => expect(spans().filter(({ name }) => name === 'request')).toHaveLength(2), 10_000);

  const [first, second] = spans().filter(({ name }) => name === 'request');
  expect(first).toMatchObject({ parentSpanId: '00f067aa0ba902b7', traceState: 'vendor=1', kind: 2 });
  expect(attributesOf(second!)).toMatchObject({
    'tollgate.outcome': 'refused',
    'tollgate.merchant': 'traced',
    'url.path': '/transactions',
  });
  const childrenOf = (id: string) => spans().filter(({ parentSpanId }) => parentSpanId === id);
  expect(childrenOf(first!.spanId).map(({ name }) => name)).toEqual(['rules', 'take', 'upstream']);
  expect(childrenOf(second!.spanId).at(-1)?.name).toBe('take');
  const [, take, upstream] = childrenOf(first!.spanId);
  expect(attributesOf(take!)).toEqual({ 'tollgate.reason': 'allowed', 'tollgate.source': 'store' });

  const got = house.received.filter(({ headers }) => headers['traceparent']?.includes(traceId));
  expect(got).toHaveLength(1);
  expect(got[0]!.rawHeaders.filter((name) => /^trace(parent|state)$/i.test(name))).toHaveLength(2);
  expect(got[0]!.headers).toMatchObject({ traceparent: `00-${traceId}-${upstream!.spanId}-01`, tracestate: 'vendor=1' });
  expect(JSON.stringify(collector.spans)).not.toMatch(/s3cret|visa4111x/);
});

test('a refusal is a line of the log with its limit and request, and the access log has one for every request', async () => {
  await merchantWith('logged', { limits: [limit(0)] });
  const { headers, status } = await house.send(gateways[1]!, 'logged', {
    path: '/transactions?card=visa4111x',
    headers: { authorization: 'Bearer s3cret' },
  });
  expect(status).toBe(429);
  const requestId = headers['x-request-id'];
  const refused = await gateways[1]!.waitForLog((line) => line.msg === 'request refused' && line['requestId'] === requestId);
  expect(refused).toMatchObject({
    level: 'info',
    merchant: 'logged',
    rule: 'all',
    limit: 'burst',
    remaining: 0,
    key: { merchant: 'logged' },
  });
  const access = await gateways[1]!.waitForLog((line) => line.msg === 'request' && line['requestId'] === requestId);
  expect(access).toMatchObject({ merchant: 'logged', method: 'GET', path: '/transactions', status: 429, outcome: 'refused' });
  expect(access['traceId']).toMatch(/^[0-9a-f]{32}$/);
  expect(JSON.stringify(gateways[1]!.logs)).not.toMatch(/s3cret|visa4111x/);
  // The other one was not asked for it.
  expect(gateways[0]!.logs.some(({ msg }) => msg === 'request')).toBe(false);
});

/** After the others, so that there is something to be seen. */
test('every metric of every app is listed with its type and labels, and no other is', async () => {
  for (const app of [gateways[0]!, preloader, rulesApi]) {
    const served = servedMetrics(await (await fetch(`${app.managementUrl}/metrics`)).text());
    const listed = listedMetrics().filter(({ apps }) => apps.includes(app.name));
    expect([...served.keys()].sort()).toEqual(listed.map(({ name }) => name).sort());
    for (const { name, type, labels } of listed) {
      const shown = served.get(name)!;
      expect([name, shown.type]).toEqual([name, type]);
      expect(shown.labels.size === 0 || [...shown.labels].sort()).toEqual(shown.labels.size === 0 || [...labels].sort());
    }
  }
});

test('names of metrics have the prefix of the product, and say their unit', () => {
  for (const { name, type } of listedMetrics()) {
    expect(name).toMatch(/^tollgate_/);
    expect(name.endsWith('_total')).toBe(type === 'counter');
    expect(name).not.toMatch(/_(ms|milliseconds|minutes|kb|mb)(_|$)/);
    if (type === 'histogram') expect(name).toMatch(/_(seconds|bytes|requests)$/);
  }
});

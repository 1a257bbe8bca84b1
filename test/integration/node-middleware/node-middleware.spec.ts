/** Express 4 and 5, Fastify, and Nest on either, each with Tollgate in front of its handlers: what clients see, and what handlers get. */
import { merchantBucketKey, startLimits, type MerchantSnapshot, type Rule } from '#limiter';
import { createRedis, RedisSnapshotStore } from '#limiter-redis';
import { createTollgate, type Tollgate, type TollgateOptions } from '#node-middleware';
import { Enforcer } from '#enforcement';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Registry } from 'prom-client';
import { merchantSnapshot } from '../../support/factories/merchants.js';
import { rule } from '../../support/factories/rules.js';
import { redisForFile } from '../../support/redis-for-file.js';
import { freshRedis } from '../../support/services.js';
import { until } from '../../support/until.js';
import { send, SERVICES, type Service } from './services.js';

const { server, redis } = await redisForFile();
const snapshots = new RedisSnapshotStore(redis);

/** Nothing comes back while a test runs. */
const ONCE_A_DAY = { refillTokens: 1, refillIntervalMs: 86_400_000 };
const of = (capacity: number, changes: Partial<Rule> = {}): Rule => rule({ capacity, ...ONCE_A_DAY, ...changes });
const slots: Rule = rule({ limits: startLimits([{ name: 'slots', algorithm: 'concurrency', limit: 1, slotTimeoutMs: 3_600_000 }], 0) });
const onFailure = { on: 'response', when: { field: 'response.status', from: 400, to: 499 } } as const;
/** A second request waits longer than the test. */
const queue: Rule = rule({
  limits: startLimits(
    [
      {
        name: 'queue',
        algorithm: 'leaky_bucket',
        capacity: 3,
        drainTokens: 1,
        drainIntervalMs: 25_000,
        onLimit: { delay: { maxWaitMs: 30_000 } },
      },
    ],
    0,
  ),
});
const byAmount: Rule = of(100, {
  cost: { field: 'body.amount', scale: 1, round: 'up', min: 1, max: 1_000, ifAbsent: 1, ifInvalid: 'refuse' },
});

/** On a busy machine Redis is late, and no rule is to act by its onStoreFailure then. */
const OPTIONS: TollgateOptions = { redisUrl: server.url, storeTimeoutMs: 5_000, graceMs: 10_000 };

async function store(merchants: Record<string, readonly Rule[]>, version = 1): Promise<void> {
  const written: MerchantSnapshot[] = Object.entries(merchants).map(([id, rules]) => merchantSnapshot(id, { version, rules }));
  await snapshots.write(written, 3_600_000);
}

await snapshots.writeDefaultRules({ version: 1, rules: [] });

describe.each(Object.entries(SERVICES))('%s', (name, start) => {
  let service: Service;
  /** Each framework has merchants of its own. */
  const its = (merchant: string): string => `${name}-${merchant}`;
  const called = (path: string): number => service.handlers.called.filter((each) => each === path).length;

  beforeAll(async () => {
    await store({
      [its('burst')]: [of(3)],
      [its('paths')]: [of(1, { match: { methods: [], paths: ['/api/things'] } })],
      [its('heads')]: [of(1, { match: { methods: ['GET'], paths: [] } })],
      [its('slots')]: [slots],
      [its('charged')]: [of(2, { charge: onFailure })],
      [its('queue')]: [queue],
      [its('edited')]: [of(1)],
      [its('amount')]: [byAmount],
      [its('free')]: [],
      [its('retried')]: [of(2)],
    });
    service = await start({ ...OPTIONS, idempotencyWindowMs: 3_600_000, idempotencyRetries: 2 });
  });
  afterAll(() => service.close());

  test('a burst passes up to the capacity, and what is over it is refused as at a gateway and reaches no handler', async () => {
    for (let i = 0; i < 3; i++) {
      const { status, headers, body } = await send(service, its('burst'));
      expect([status, body, headers.ratelimit, headers['ratelimit-policy']]).toEqual([
        200,
        '/',
        expect.stringContaining(`r=${2 - i}`),
        expect.stringContaining('q=3'),
      ]);
    }
    const refused = await send(service, its('burst'), { headers: { 'x-request-id': 'mine-1' } });
    expect(refused.status).toBe(429);
    expect(refused.headers).toMatchObject({
      'content-type': expect.stringMatching(/^application\/problem\+json/),
      'x-request-id': 'mine-1',
      'retry-after': expect.stringMatching(/^\d+$/),
      ratelimit: expect.stringContaining('r=0'),
    });
    expect(JSON.parse(refused.body)).toMatchObject({
      status: 429,
      code: 'quota.exceeded',
      'violated-policies': ['burst'],
      requestId: 'mine-1',
    });
    expect(called('/')).toBe(3);
  });

  test('a retry of a charged request is not charged again: so often, and only if it is the same request', async () => {
    const ask = async (key: string, path = '/') =>
      (await send(service, its('retried'), { method: 'POST', path, headers: { 'idempotency-key': key, 'content-length': '0' } })).status;
    // The first is charged, and its two retries are not; of the two tokens one is left.
    expect([await ask('a'), await ask('a'), await ask('a')]).toEqual([200, 200, 200]);
    expect(await ask('b')).toBe(200);
    // Another key, another query and a third retry are charged, and nothing is left.
    expect([await ask('c'), await ask('b', '/?other=1'), await ask('a'), await ask('b')]).toEqual([429, 429, 429, 200]);
  });

  test.each([
    ['of no merchant', '', '/', 401, 'identity.missing'],
    ['of a merchant that does not exist', 'nobody', '/', 403, 'merchant.unknown'],
    ['with an encoded slash', 'free', '/api%2fthings', 400, 'path.ambiguous'],
    ['with an encoded letter', 'free', '/api/th%69ngs', 400, 'path.ambiguous'],
    ['with a segment of dots', 'free', '/api/x/../things', 400, 'path.ambiguous'],
    ['with an empty segment', 'free', '/api//things', 400, 'path.ambiguous'],
    ['with a whole URL', 'free', 'http://127.0.0.1/api/things', 400, 'target.malformed'],
  ])('a request %s reaches no handler', async (_what, merchant, path, status, code) => {
    const before = service.handlers.called.length;
    const refused = await send(service, merchant === '' ? '' : its(merchant), { path });
    // Nest asks its guards only about routes that it has found.
    const isFound = name.startsWith('nest') && refused.status === 404;
    if (!isFound) expect([refused.status, (JSON.parse(refused.body) as { code: string }).code]).toEqual([status, code]);
    expect(service.handlers.called).toHaveLength(before);
  });

  test('a mounted route is limited by its whole path, however it is written where the framework takes it', async () => {
    expect((await send(service, its('paths'), { path: '/api/things?x=1' })).status).toBe(200);
    expect((await send(service, its('paths'), { path: '/api/things' })).status).toBe(429);
    const upper = await send(service, its('paths'), { path: '/API/Things' });
    expect(upper.status).toBe(service.ignoresCase ? 429 : 404);
    expect([429, 404]).toContain((await send(service, its('paths'), { path: '/api/things/' })).status);
    expect(called('/things')).toBe(1);
    expect((await send(service, its('paths'))).status).toBe(200);
  });

  test('HEAD is limited by the rules for GET', async () => {
    expect((await send(service, its('heads'))).status).toBe(200);
    expect((await send(service, its('heads'), { method: 'HEAD' })).status).toBe(429);
  });

  test('a slot is held until the answer has ended, or its client has gone', async () => {
    /** It is free again once a request has ended, which its client may know a moment before. */
    const hold = (signal?: AbortSignal) =>
      until('a slot is free', async () => {
        const before = called('/slow');
        let isAnswered = false;
        const answered = <T>(answer: T): T => ((isAnswered = true), answer);
        const answer = send(service, its('slots'), { path: '/slow', signal }).then(answered, () => answered('left' as const));
        await until(() => isAnswered || called('/slow') > before);
        return isAnswered ? null : { answer };
      });
    const first = await hold();
    expect((await send(service, its('slots'))).status).toBe(429);
    service.handlers.release();
    expect(await first.answer).toMatchObject({ status: 200 });
    const leaving = new AbortController();
    const second = await hold(leaving.signal);
    expect((await send(service, its('slots'))).status).toBe(429);
    leaving.abort();
    expect(await second.answer).toBe('left');
    await until(async () => (await send(service, its('slots'))).status === 200);
    service.handlers.release();
  });

  test('what is charged for some answers only is given back after the others', async () => {
    const ask = async (status: number) => (await send(service, its('charged'), { path: `/status/${status}` })).status;
    // Given back once the answer has ended, which its client may know a moment before.
    for (let i = 0; i < 6; i++) await until(async () => (await ask(201)) === 201);
    for (const charged of [404, 402]) await until(async () => (await ask(charged)) === charged);
    expect(await ask(201)).toBe(429);
  });

  test('a request that waits its turn leaves the queue with its client, and no handler is called', async () => {
    expect((await send(service, its('queue'))).status).toBe(200);
    const before = called('/');
    const leaving = new AbortController();
    const key = `tg:{${its('queue')}}1.0`;
    const fullAtUs = await redis.get(key);
    const waiting = send(service, its('queue'), { signal: leaving.signal }).catch(() => 'left');
    await until(async () => (await redis.get(key)) !== fullAtUs);
    const taken = await redis.get(key);
    leaving.abort();
    expect(await waiting).toBe('left');
    await until('its place is given back', async () => (await redis.get(key)) !== taken);
    expect(called('/')).toBe(before);
  });

  test('an edit of a rule is felt', async () => {
    expect([(await send(service, its('edited'))).status, (await send(service, its('edited'))).status]).toEqual([200, 429]);
    await store({ [its('edited')]: [of(5, { id: '2' })] }, 2);
    await snapshots.announce([its('edited')]);
    await until(async () => (await send(service, its('edited'))).status === 200);
  });

  test('a rule can look at a body that has been parsed', async () => {
    const pay = (amount: number) => send(service, its('amount'), { method: 'POST', body: JSON.stringify({ amount }) });
    expect((await pay(90)).headers.ratelimit).toContain('r=10');
    expect([(await pay(11)).status, (await pay(-1)).status, (await pay(10)).status]).toEqual([429, 400, 200]);
  });

  test('a route has limits of its own, which stand in its code, and one that is skipped has none', async () => {
    const login = () => send(service, its('free'), { path: '/login', method: 'POST' });
    expect([(await login()).status, (await login()).status, (await login()).status]).toEqual([200, 200, 429]);
    expect((await send(service, its('free'))).status).toBe(200);
    expect((await send(service, '', { path: '/health' })).status).toBe(200);
  });
});

/** A server of node itself with the middleware for Express, which needs no more than that. */
async function serving(tollgate: Tollgate, handle: RequestListener = (_request, response) => response.end('served')) {
  const middleware = tollgate.express();
  const server = createServer((request, response) => middleware(request, response, () => handle(request, response)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => new Promise<void>((resolve) => (server.close(() => resolve()), server.closeAllConnections()));
  return { port: (server.address() as AddressInfo).port, close };
}

test('two instances and a gateway take from one bucket, under the key that a gateway gives it', async () => {
  await store({ shared: [of(3)] });
  const tollgates = await Promise.all([createTollgate(OPTIONS), createTollgate(OPTIONS)]);
  const ports = await Promise.all(tollgates.map((tollgate) => serving(tollgate)));
  const enforcer = new Enforcer({
    redisUrl: server.url,
    storeTimeoutMs: 5_000,
    logger: { info: () => {}, warn: () => {} },
    registry: new Registry(),
  });
  await enforcer.open();
  const asGateway = () =>
    new Promise<boolean>((resolve) =>
      enforcer.check({ merchantId: 'shared', ip: '192.0.2.7', method: 'GET', target: '/' }, ({ allowed }) => resolve(allowed)),
    );
  expect([(await send(ports[0]!, 'shared')).status, (await send(ports[1]!, 'shared')).status, await asGateway()]).toEqual([200, 200, true]);
  expect([(await send(ports[0]!, 'shared')).status, (await send(ports[1]!, 'shared')).status, await asGateway()]).toEqual([
    429,
    429,
    false,
  ]);
  expect(await redis.exists(`tg:${merchantBucketKey('shared', '1', 0)}`)).toBe(1);
  await Promise.all([...ports.map(({ close }) => close()), ...tollgates.map((tollgate) => tollgate.close()), enforcer.close()]);
});

test('rules in code are enforced while Redis is away as each of them says, from the first request of a process on', async () => {
  const limits = [{ name: 'few', algorithm: 'fixed_window', limit: 1, windowMs: 86_400_000 }];
  const ofPath = (onStoreFailure: 'open' | 'closed' | 'local') => ({
    name: onStoreFailure,
    match: { paths: [`/${onStoreFailure}`] },
    limits,
    onStoreFailure,
  });
  const tollgate = await createTollgate({
    redisUrl: 'redis://127.0.0.1:1',
    storedRules: false,
    merchant: 'everybody',
    rules: [ofPath('open'), ofPath('closed'), ofPath('local')],
    logger: { info: () => {}, warn: () => {} },
  });
  const { port, close } = await serving(tollgate);
  const twice = async (path: string) => [(await send({ port }, '', { path })).status, (await send({ port }, '', { path })).status];
  expect(await twice('/open')).toEqual([200, 200]);
  expect(await twice('/closed')).toEqual([503, 503]);
  expect(await twice('/local')).toEqual([200, 429]);
  await close();
  await tollgate.close();
});

test('a Redis in which nobody has written rules lets nobody pass', async () => {
  const empty = await freshRedis();
  const tollgate = await createTollgate({ ...OPTIONS, redisUrl: empty.url, logger: { info: () => {}, warn: () => {} } });
  const { port, close } = await serving(tollgate);
  const refused = await send({ port }, 'anybody');
  expect([refused.status, JSON.parse(refused.body)]).toEqual([503, expect.objectContaining({ code: 'rules.unavailable' })]);
  expect(tollgate.assertRulesRead).toThrow('default rules');
  const client = createRedis(empty.url, 'limiter');
  await new Promise((resolve) => client.once('ready', resolve));
  await new RedisSnapshotStore(client).writeDefaultRules({ version: 1, rules: [] });
  await until(async () => (await send({ port }, 'anybody')).status === 403);
  await close();
  await tollgate.close();
  client.disconnect();
  await empty.stop();
});

test('what is held when a service closes is given back after the grace, and nothing of Tollgate is left', async () => {
  await store({ closing: [slots] });
  const before = openHandles();
  const tollgate = await createTollgate({ ...OPTIONS, graceMs: 50 });
  let isBegun = false;
  const { port, close } = await serving(tollgate, () => (isBegun = true));
  const held = send({ port }, 'closing').catch(() => 'cut');
  await until(() => isBegun);
  const key = `tg:${merchantBucketKey('closing', '1', 0)}`;
  const taken = await redis.getBuffer(key);
  expect(taken).not.toBeNull();
  await tollgate.close();
  await until('the slot is free', async () => !(await redis.getBuffer(key))?.equals(taken!));
  expect((await send({ port }, 'closing')).status).toBe(503);
  await close();
  expect(await held).toBe('cut');
  await until(() => openHandles() <= before);
});

function openHandles(): number {
  return process.getActiveResourcesInfo().filter((each) => ['TCPSocketWrap', 'Timeout', 'TCPServerWrap'].includes(each)).length;
}

test('a request that meets Tollgate twice is decided about once, and with two routes it is an error', async () => {
  const tollgate = await createTollgate({
    ...OPTIONS,
    storedRules: false,
    merchant: 'twice',
    rules: [{ name: 'all', limit: 3, windowMs: 86_400_000 }],
  });
  const [first, again, other] = [tollgate.express(), tollgate.express(), tollgate.express({ route: 'other' })];
  const server = createServer((request, response) => {
    const answer = (error?: unknown) => response.end(error instanceof Error ? error.message : 'served');
    first(request, response, () =>
      again(request, response, () => (request.url === '/other' ? other(request, response, answer) : answer())),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  expect([(await send({ port }, '')).body, (await send({ port }, '')).body]).toEqual(['served', 'served']);
  expect((await send({ port }, '', { path: '/other' })).body).toContain('no route in particular, and is asked again for the route "other"');
  expect((await send({ port }, '')).status).toBe(429);
  server.close();
  await tollgate.close();
});

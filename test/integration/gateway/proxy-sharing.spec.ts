import type { ServerResponse } from 'node:http';
import type { InboundRequest, ProxyOptions } from '../../../apps/gateway/src/proxy/index.js';
import { until } from '../../support/until.js';
import { FORWARD, RawClient, type RunningProxy, send, startProxy, startUpstream, stopAll } from './proxy-harness.js';

afterEach(stopAll);

const GRACE_MS = 400;
/** Where something has to happen before a grace is over, also on a machine that stands still for a moment. */
const LONG_GRACE_MS = 1_500;

/** The merchant of a request is the first part of its path. */
function merchantOf({ target }: Pick<InboundRequest, 'target'>): string {
  return target.split('/', 2)[1]!;
}

/** A proxy that knows merchants, in front of an upstream that holds what asks for `/hold`. */
async function start(options: Partial<ProxyOptions> = {}) {
  const held: ServerResponse[] = [];
  const reached: string[] = [];
  const { url } = await startUpstream((request, response) => {
    reached.push(request.url!);
    request.resume();
    if (request.url!.endsWith('/hold')) held.push(response);
    else if (request.url!.endsWith('/large')) response.end(Buffer.alloc(64 * 1024 * 1024));
    else request.on('end', () => response.end('ok')).on('error', () => {});
  });
  const released: string[] = [];
  const proxy = await startProxy(url, {
    admit: (request, done) => {
      const merchant = merchantOf(request);
      if (!request.belongsTo(merchant)) return;
      const reservation = {
        release: () => void released.push(`${merchant} spent`),
        refund: () => void released.push(`${merchant} refunded`),
      };
      done({ ...FORWARD, reservations: [reservation] } as typeof FORWARD);
    },
    ...options,
  });
  return { held, reached, released, ...proxy };
}

async function get(proxy: RunningProxy, path: string): Promise<RawClient> {
  return (await RawClient.open(proxy.port)).write(`GET ${path} HTTP/1.1`, 'Host: x', '', '');
}

const shed = async (proxy: RunningProxy, reason: string): Promise<number> => {
  const line = (await proxy.scrape()).find((each) => each.startsWith(`tollgate_shed_total{reason="${reason}"}`));
  return Number(line?.split(' ')[1]);
};

const slots = async (proxy: RunningProxy): Promise<string[]> =>
  (await proxy.scrape()).filter((line) => /^tollgate_upstream_(connections_used|waiting)\b/.test(line));

describe('connections to the upstream', () => {
  it('are shared: a merchant whose calls are never answered holds its part, another one is answered at once', async () => {
    const proxy = await start({ connections: 8, queueTimeoutMs: 60_000 });
    for (let i = 0; i < 20; i++) await get(proxy, '/slow/hold');
    await until(() => proxy.metrics.inFlight === 20 && proxy.held.length === 3);
    expect((await send(proxy.port, { path: '/other' })).status).toBe(200);
    expect(await slots(proxy)).toEqual(['tollgate_upstream_connections_used 3', 'tollgate_upstream_waiting 17']);
    expect(proxy.held).toHaveLength(3);
    proxy.held.shift()!.end('done');
    await until(() => expect(proxy.held).toHaveLength(3));
  });

  it('are waited for so long and no longer: 503 with Retry-After, and what the request took is given back', async () => {
    const proxy = await start({ connections: 1, queueTimeoutMs: GRACE_MS });
    await get(proxy, '/slow/hold');
    await until(() => proxy.held.length === 1);
    const startedMs = performance.now();
    const answer = await send(proxy.port, { path: '/slow/more' });
    expect(performance.now() - startedMs).toBeGreaterThan(GRACE_MS / 2);
    expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': '1', 'content-type': 'application/problem+json' } });
    expect(JSON.parse(answer.body)).toMatchObject({ detail: expect.stringContaining('cost nothing') as string });
    expect(proxy.released).toEqual(['slow refunded']);
    expect(await shed(proxy, 'upstream_queue')).toBe(1);
    expect(proxy.log).toMatchObject([{ reason: 'upstream_queue', who: 'slow' }]);
    proxy.held.shift()!.end();
    await until(() => proxy.released.length === 2);
    expect(proxy.released[1]).toBe('slow spent');
    expect(proxy.reached).toEqual(['/slow/hold']);
  });

  it('go to those that still wait: a client that goes away leaves the queue', async () => {
    const proxy = await start({ connections: 1, queueTimeoutMs: 60_000 });
    await get(proxy, '/a/hold');
    await until(() => proxy.held.length === 1);
    const second = await get(proxy, '/b/hold');
    await until(() => proxy.metrics.slots.waiting === 1);
    await get(proxy, '/c/hold');
    await until(() => proxy.metrics.slots.waiting === 2);
    second.socket.destroy();
    await until(() => proxy.metrics.slots.waiting === 1);
    proxy.held.shift()!.end();
    await until(() => proxy.held.length === 1);
    expect(proxy.reached).toEqual(['/a/hold', '/c/hold']);
    expect(proxy.released).toEqual(['b refunded', 'a spent']);
  });

  it('are free again however a request ends', async () => {
    const proxy = await start({ connections: 4, headersTimeoutMs: LONG_GRACE_MS, merchantShare: 100 });
    const gone = await Promise.all(['/a/hold', '/b/large', '/c/hold', '/d/hold'].map((path) => get(proxy, path)));
    await until(() => proxy.reached.length === 4);
    expect(proxy.metrics.slots.used).toBe(4);
    gone[0]!.socket.destroy();
    gone[1]!.socket.destroy();
    proxy.held.find(({ req }) => req.url === '/c/hold')!.destroy();
    await Promise.all([gone[2]!.until('HTTP/1.1 502'), gone[3]!.until('HTTP/1.1 504')]);
    await until(() => expect(proxy.metrics.slots.used).toBe(0));
    const answers = await Promise.all([1, 2, 3, 4].map(() => send(proxy.port, { path: '/e' })));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  });
});

describe('a client that trickles its body', () => {
  const chunked = ['Host: x', 'Transfer-Encoding: chunked', '', ''];

  it('holds no connection to the upstream, gets 408, and is cut off', async () => {
    const proxy = await start({ requestBodyGraceMs: GRACE_MS });
    const client = (await RawClient.open(proxy.port)).write('POST /slow HTTP/1.1', ...chunked).write('1\r\nx\r\n');
    await until(() => proxy.metrics.inFlight === 1);
    expect(proxy.metrics.slots.used).toBe(0);
    await client.closed;
    expect(client.received).toMatch(/^HTTP\/1.1 408 .*Connection: close.*without pauses/s);
    expect([proxy.reached, proxy.released, proxy.metrics.inFlight]).toEqual([[], ['slow refunded'], 0]);
    expect(await shed(proxy, 'slow_upload')).toBe(1);
  });

  it.each([
    ['in chunks', chunked, `${(20_000).toString(16)}\r\n${'x'.repeat(20_000)}\r\n`],
    ['with a length', ['Host: x', 'Content-Length: 1000000', '', ''], 'x'.repeat(20_000)],
  ])('after its first 20 KB, %s, gets 408, and has spent its tokens', async (_case, headers, beginning) => {
    const proxy = await start({ requestBodyGraceMs: LONG_GRACE_MS });
    const client = (await RawClient.open(proxy.port)).write('POST /slow HTTP/1.1', ...headers).write(beginning);
    await until(() => proxy.reached.length === 1);
    await client.closed;
    expect(client.statuses).toEqual([408]);
    expect(proxy.released).toEqual(['slow spent']);
    await until(() => proxy.metrics.slots.used === 0);
  });

  it('is not blamed for an upstream that does not read', async () => {
    const { url } = await startUpstream((request, response) => {
      setTimeout(() => request.resume().on('end', () => response.end('ok')), 4 * GRACE_MS);
    });
    const { port } = await startProxy(url, { requestBodyGraceMs: GRACE_MS });
    const answer = await send(port, { method: 'POST', body: Buffer.alloc(32 * 1024 * 1024) });
    expect(answer.status).toBe(200);
  });
});

describe('a client that does not read its answer', () => {
  it('is cut off, and its connection to the upstream is free', async () => {
    const proxy = await start({ responseBodyGraceMs: GRACE_MS });
    const client = await get(proxy, '/slow/large');
    client.socket.pause();
    await until(() => proxy.reached.length === 1);
    await until(() => proxy.metrics.slots.used === 0 && proxy.metrics.inFlight === 0);
    expect(await shed(proxy, 'slow_download')).toBe(1);
    expect(proxy.log).toMatchObject([{ reason: 'slow_download', who: 'slow' }]);
  });

  it('is not blamed for an upstream that sends nothing for a while', async () => {
    const { url } = await startUpstream((_request, response) => {
      response.write('data: 1\n\n');
      setTimeout(() => response.end('data: 2\n\n'), 4 * GRACE_MS);
    });
    const { port } = await startProxy(url, { responseBodyGraceMs: GRACE_MS });
    expect((await send(port)).body).toBe('data: 1\n\ndata: 2\n\n');
  });
});

it('a merchant has its share of the requests in flight, also while they are being decided', async () => {
  const waiting: (() => void)[] = [];
  const { url } = await startUpstream((_request, response) => response.end('ok'));
  const proxy = await startProxy(url, {
    maxInFlight: 6,
    admit: (request, done) => {
      if (!request.belongsTo(merchantOf(request))) return;
      if (merchantOf(request) === 'slow') waiting.push(() => done(FORWARD));
      else done(FORWARD);
    },
  });
  const clients = await Promise.all([1, 2].map(() => get(proxy, '/slow')));
  await until(() => waiting.length === 2);
  const third = await send(proxy.port, { path: '/slow' });
  expect(third).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
  expect(third.body).toContain('too many requests in flight');
  expect((await send(proxy.port, { path: '/other' })).status).toBe(200);
  expect(await shed(proxy, 'merchant_in_flight')).toBe(1);
  for (const decide of waiting) decide();
  await Promise.all(clients.map((client) => client.until('ok')));
  expect((await send(proxy.port, { path: '/slower' })).status).toBe(200);
});

it('bodies wait in bounded memory, of which a merchant has its share', async () => {
  const proxy = await start({ maxBufferedBytes: 6 * 16 * 1024 });
  const post = async (path: string): Promise<RawClient> =>
    (await RawClient.open(proxy.port)).write(`POST ${path} HTTP/1.1`, 'Host: x', 'Transfer-Encoding: chunked', '', '');
  const first = await Promise.all([post('/greedy'), post('/greedy')]);
  await until(() => proxy.metrics.inFlight === 2);
  const third = await post('/greedy');
  expect(await third.until('requestId')).toMatch(/^HTTP\/1.1 503 .*Retry-After: 1.*wait in memory/s);
  const other = (await post('/other')).write('2\r\nhi\r\n0\r\n\r\n');
  await other.until('ok');
  for (const client of first) client.write('2\r\nhi\r\n0\r\n\r\n');
  await Promise.all(first.map((client) => client.until('ok')));
  expect(await shed(proxy, 'buffered_bytes')).toBe(1);
  await (await post('/greedy')).write('2\r\nhi\r\n0\r\n\r\n').until('ok');
});

it('no exchange lasts longer than any may: 504, or a cut where the answer has begun', async () => {
  const proxy = await start({ exchangeTimeoutMs: LONG_GRACE_MS });
  const silent = await get(proxy, '/a/hold');
  const begun = await get(proxy, '/b/hold');
  await until(() => proxy.held.length === 2);
  for (const response of proxy.held) if (response.req.url === '/b/hold') response.write('half');
  expect(await silent.until('requestId')).toMatch(/^HTTP\/1.1 504 /);
  await begun.closed;
  expect(begun.received).not.toMatch(/\r\n0\r\n/);
  expect(await shed(proxy, 'exchange_timeout')).toBe(2);
  await until(() => proxy.metrics.slots.used === 0);
});

it('a peer that is no trusted proxy has so many connections', async () => {
  const proxy = await start({ maxConnectionsPerPeer: 2, trusts: () => false });
  const clients = [await RawClient.open(proxy.port), await RawClient.open(proxy.port)];
  const third = await RawClient.open(proxy.port);
  await third.closed;
  expect(await shed(proxy, 'peer_connections')).toBe(1);
  clients[0]!.socket.destroy();
  await until('the place of the one that left is free', async () => {
    const client = (await RawClient.open(proxy.port)).write('GET /a HTTP/1.1', 'Host: x', '', '');
    await Promise.race([client.closed, client.until('ok')]);
    return client.received !== '';
  });
});

it('connections of a trusted proxy are not bounded by peer', async () => {
  const proxy = await start({ maxConnectionsPerPeer: 1 });
  const clients = await Promise.all([1, 2, 3].map(() => get(proxy, '/a')));
  await Promise.all(clients.map((client) => client.until('ok')));
});

describe('when the upstream has too much to do', () => {
  const criticalityOf: ProxyOptions['criticalityOf'] = ({ target }) =>
    target.startsWith('/report') ? 'sheddable' : target.startsWith('/pay') ? 'critical' : 'normal';

  it('sheddable requests are refused at once and cost nothing, and critical ones are served from what is kept for them', async () => {
    const overload = { adaptiveFrom: undefined, reserve: 0.2 };
    const proxy = await start({ connections: 10, merchantShare: 100, queueTimeoutMs: 60_000, criticalityOf, overload });
    for (let i = 0; i < 6; i++) await get(proxy, '/report/hold');
    await until(() => proxy.held.length === 6);
    const shedAnswer = await send(proxy.port, { path: '/report' });
    expect(shedAnswer).toMatchObject({ status: 503, headers: { 'retry-after': '5' } });
    expect(JSON.parse(shedAnswer.body)).toMatchObject({ code: 'upstream.overloaded' });
    // Refused before anybody decided about it.
    expect(proxy.asked).toHaveLength(6);
    for (let i = 0; i < 2; i++) await get(proxy, '/normal/hold');
    await until(() => proxy.held.length === 8);
    await get(proxy, '/normal/hold');
    await until(() => proxy.metrics.slots.waiting === 1);
    expect((await send(proxy.port, { path: '/pay' })).status).toBe(200);
    expect(proxy.metrics.slots.waiting).toBe(1);
    const lines = await proxy.scrape();
    expect(lines).toContain('tollgate_upstream_shed_total{criticality="sheddable"} 1');
    expect(lines).toContain('tollgate_upstream_limit 10');
    expect(lines).toContain('tollgate_upstream_in_flight 8');
  });

  it('a merchant that has its share leaves room for others, and its sheddable requests are refunded', async () => {
    const proxy = await start({ connections: 9, criticalityOf: () => 'sheddable', overload: { adaptiveFrom: undefined, reserve: 0.1 } });
    let answered = 0;
    await get(proxy, '/slow/hold');
    await until(() => proxy.held.length === 1);
    for (; answered < 9 && (await send(proxy.port, { path: '/other' })).status === 200; answered++);
    expect(answered).toBe(9);
    for (let i = 0; i < 5; i++) await get(proxy, '/slow/hold');
    await until(() => proxy.released.includes('slow refunded'));
    expect((await send(proxy.port, { path: '/other' })).status).toBe(200);
  });

  it('an answer that has begun is no load any more', async () => {
    const { url } = await startUpstream((_request, response) => void response.write('begun'));
    const proxy = await startProxy(url, { connections: 10, merchantShare: 100, overload: { adaptiveFrom: 1, reserve: 0 } });
    for (let i = 0; i < 3; i++) await (await get(proxy as never, '/stream')).until('begun');
    await until(async () => (await proxy.scrape()).includes('tollgate_upstream_in_flight 0'));
    expect(await slots(proxy)).toContain('tollgate_upstream_connections_used 3');
  });
});

import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ProxyOptions } from '../../../apps/gateway/src/proxy/index.js';
import { readRoutes, type RouteDefaults } from '../../../apps/gateway/src/routes/read-routes.js';
import { RoutesFile } from '../../../apps/gateway/src/routes/routes-file.js';
import { freePort } from '../../../scripts/ports.mjs';
import { until } from '../../support/until.js';
import { FORWARD, RawClient, type RunningProxy, send, startProxy, startTcpUpstream, startUpstream, stopAll } from './proxy-harness.js';

afterEach(stopAll);

const DEFAULTS: RouteDefaults = {
  connections: 16,
  queueTimeoutMs: 60_000,
  headersTimeoutMs: 30_000,
  bodyIdleTimeoutMs: 30_000,
  exchangeTimeoutMs: 60_000,
  ownHeaders: [],
};

const routesOf = (document: object) => readRoutes(JSON.stringify({ version: 1, ...document }), DEFAULTS);

function start(document: object, options: Partial<ProxyOptions> = {}, upstream?: URL): Promise<RunningProxy> {
  return startProxy(upstream, { routes: routesOf(document), ...options });
}

interface Named {
  url: URL;
  requests: IncomingMessage[];
  held: ServerResponse[];
}

/** An upstream that answers with its name, and holds what asks for /hold. */
async function named(name: string): Promise<Named> {
  const requests: IncomingMessage[] = [];
  const held: ServerResponse[] = [];
  const { url } = await startUpstream((request, response) => {
    requests.push(request);
    request.resume().on('end', () => {
      if (request.url!.includes('/hold')) held.push(response);
      else response.setHeader('Server', 'old').end(name);
    });
  });
  return { url, requests, held };
}

/** The address of a server that is not there. */
const nobody = async (): Promise<string> => `http://127.0.0.1:${await freePort()}`;

const origin = ({ url }: { url: URL }): string => url.origin;
const bodies = async (proxy: RunningProxy, times: number, path = '/'): Promise<string> => {
  let all = '';
  for (let i = 0; i < times; i++) all += (await send(proxy.port, { path })).body;
  return all;
};

const metric = async (proxy: RunningProxy, series: string): Promise<number> =>
  Number((await proxy.scrape()).find((line) => line.startsWith(`${series} `))?.split(' ')[1]);

it('requests go by host and path, everything else to the upstream of the one-line form, or nowhere', async () => {
  const [a, b, rest] = await Promise.all(['a', 'b', 'rest'].map(named));
  const document = {
    upstreams: [
      { name: 'a', addresses: [origin(a!)] },
      { name: 'b', addresses: [origin(b!)] },
    ],
    routes: [
      { name: 'a', upstream: 'a', hosts: ['a.test'] },
      { name: 'b', upstream: 'b', paths: ['/b/**'] },
    ],
  };
  const proxy = await start(document, {}, rest!.url);
  expect((await send(proxy.port, { headers: { host: 'A.test:80' } })).body).toBe('a');
  expect((await send(proxy.port, { path: '/b/1' })).body).toBe('b');
  expect((await send(proxy.port, { path: '/c' })).body).toBe('rest');

  const strict = await start(document);
  const answer = await send(strict.port, { path: '/c' });
  expect([answer.status, JSON.parse(answer.body)]).toMatchObject([404, { code: 'route.not_found' }]);
  // Nobody was asked who that is, and nothing was taken.
  expect(strict.asked).toEqual([]);
  expect(rest!.requests).toHaveLength(1);
});

it('a route rewrites headers, both ways; rules see them as the upstream does', async () => {
  const upstream = await named('a');
  const rewrite = {
    requestHeaders: { set: { 'X-Channel': 'gateway' }, remove: ['Cookie'] },
    responseHeaders: { set: { 'X-Served-By': 'a' }, remove: ['Server'] },
  };
  const seen: (readonly string[])[] = [];
  const proxy = await start(
    { upstreams: [{ name: 'a', addresses: [origin(upstream)] }], routes: [{ name: 'a', upstream: 'a', ...rewrite }] },
    {
      admit: (request, done) => {
        seen.push(request.headerValues('x-channel'), request.headerValues('cookie'));
        done(FORWARD);
      },
    },
  );
  const answer = await send(proxy.port, { headers: { 'x-channel': 'web', cookie: 'a=b', 'x-other': '1' } });
  expect(seen).toEqual([['gateway'], []]);
  expect(upstream.requests[0]!.headers).toMatchObject({ 'x-channel': 'gateway', 'x-other': '1' });
  expect(upstream.requests[0]!.headers).not.toHaveProperty('cookie');
  expect(answer.headers).toMatchObject({ 'x-served-by': 'a' });
  expect(answer.headers).not.toHaveProperty('server');
});

describe('a body that is longer than its route allows', () => {
  const bounded = async () => {
    const upstream = await named('a');
    const settled: string[] = [];
    const proxy = await start(
      { upstreams: [{ name: 'a', addresses: [origin(upstream)] }], routes: [{ name: 'a', upstream: 'a', maxBodyBytes: 40_000 }] },
      {
        admit: (_request, done) => {
          const reservation = { release: () => void settled.push('spent'), refund: () => void settled.push('refunded') };
          done({ ...FORWARD, reservations: [reservation] } as typeof FORWARD);
        },
      },
    );
    return { upstream, proxy, settled };
  };

  it('is refused before anybody decides about the request, if its length is known', async () => {
    const { upstream, proxy } = await bounded();
    expect((await send(proxy.port, { method: 'POST', body: Buffer.alloc(40_000) })).status).toBe(200);
    const answer = await send(proxy.port, { method: 'POST', body: Buffer.alloc(40_001) });
    expect([answer.status, JSON.parse(answer.body)]).toMatchObject([413, { code: 'body.too_large' }]);
    expect([proxy.asked.length, upstream.requests.length]).toEqual([1, 1]);
  });

  it.each([
    ['in its first pieces', 10_000, 5],
    ['on its way to the upstream', 30_000, 2],
  ])('is cut off when it turns out to be, %s', async (_where, size, pieces) => {
    const { proxy, settled } = await bounded();
    const client = (await RawClient.open(proxy.port)).write('POST / HTTP/1.1', 'Host: x', 'Transfer-Encoding: chunked', '', '');
    const chunk = `${size.toString(16)}\r\n${'x'.repeat(size)}\r\n`;
    for (let i = 0; i < pieces; i++) client.write(chunk);
    await client.until('413 ');
    await client.closed;
    await until(() => expect(settled).toHaveLength(1));
    await until(() => expect(proxy.metrics.slots.used).toBe(0));
  });
});

describe('several addresses', () => {
  it('get requests in turn', async () => {
    const all = await Promise.all(['a', 'b', 'c'].map(named));
    const proxy = await start({
      upstreams: [{ name: 'x', addresses: all.map(origin), balance: 'round_robin' }],
      routes: [{ name: 'x', upstream: 'x' }],
    });
    expect(await bodies(proxy, 6)).toBe('abcabc');
    expect(await metric(proxy, 'tollgate_upstream_answers_total{upstream="x"}')).toBe(6);
  });

  it('get requests where the fewest are under way', async () => {
    const [a, b] = await Promise.all(['a', 'b'].map(named));
    const proxy = await start({ upstreams: [{ name: 'x', addresses: [origin(a!), origin(b!)] }], routes: [{ name: 'x', upstream: 'x' }] });
    (await RawClient.open(proxy.port)).write('GET /hold HTTP/1.1', 'Host: x', '', '');
    await until(() => a!.held.length + b!.held.length === 1);
    const [holds, free] = a!.held.length === 1 ? ['a', 'b'] : ['b', 'a'];
    expect(await bodies(proxy, 5)).toBe(free.repeat(5));
    expect(holds).not.toBe(free);
  });

  it('a request goes to the next one if no connection can be opened, and the address is ejected', async () => {
    const there = await named('there');
    const proxy = await start({
      upstreams: [
        {
          name: 'x',
          addresses: [await nobody(), origin(there)],
          balance: 'round_robin',
          passiveHealth: { failures: 2, ejectMs: 3_600_000, maxEjectMs: 3_600_000 },
        },
      ],
      routes: [{ name: 'x', upstream: 'x' }],
    });
    for (let i = 0; i < 6; i++)
      expect(await send(proxy.port, { method: 'POST', body: 'pay' })).toMatchObject({ status: 200, body: 'there' });
    expect(there.requests).toHaveLength(6);
    expect(await metric(proxy, 'tollgate_upstream_connect_retries_total{upstream="x"}')).toBe(2);
    expect(await metric(proxy, 'tollgate_upstream_ejections_total{upstream="x"}')).toBe(1);
    expect(await metric(proxy, 'tollgate_upstream_addresses{upstream="x",state="ejected"}')).toBe(1);
    expect(proxy.log).toMatchObject([{ upstream: 'x', state: 'ejected' }]);
    expect(proxy.metrics.slots.used).toBe(0);
  });

  it('a request that may have reached one is not sent to another', async () => {
    const there = await named('there');
    let got = 0;
    const breaking = await startTcpUpstream((socket) =>
      socket.once('data', () => {
        got++;
        socket.destroy();
      }),
    );
    const proxy = await start({
      upstreams: [{ name: 'x', addresses: [origin(breaking), origin(there)], balance: 'round_robin', passiveHealth: { failures: 3 } }],
      routes: [{ name: 'x', upstream: 'x' }],
    });
    const statuses: number[] = [];
    for (let i = 0; i < 4; i++) statuses.push((await send(proxy.port, { method: 'POST', body: 'pay' })).status);
    expect(statuses.sort()).toEqual([200, 200, 502, 502]);
    expect([got, there.requests.length]).toEqual([2, 2]);
  });

  it('of which none can be reached, a request fails once all have been tried', async () => {
    const addresses = [await nobody(), await nobody(), await nobody()];
    const proxy = await start({ upstreams: [{ name: 'x', addresses }], routes: [{ name: 'x', upstream: 'x' }] });
    for (let i = 0; i < 3; i++) expect((await send(proxy.port)).status).toBe(502);
    expect(proxy.metrics.slots.used).toBe(0);
    expect(await metric(proxy, 'tollgate_upstream_connect_retries_total{upstream="x"}')).toBe(6);
  });

  it('that fail their checks get no requests until they pass them', async () => {
    let healthy = false;
    const [sick, well] = await Promise.all([
      startUpstream((request, response) => {
        if (request.url === '/up') response.writeHead(healthy ? 204 : 500);
        response.end('sick');
      }),
      startUpstream((_request, response) => response.end('well')),
    ]);
    const activeHealth = { path: '/up', intervalMs: 100, timeoutMs: 10_000, failures: 1, passes: 1 };
    const proxy = await start({
      upstreams: [{ name: 'x', addresses: [origin(sick), origin(well)], balance: 'round_robin', activeHealth }],
      routes: [{ name: 'x', upstream: 'x' }],
    });
    const down = () => metric(proxy, 'tollgate_upstream_addresses{upstream="x",state="down"}');
    await until(async () => expect(await down()).toBe(1));
    expect(await bodies(proxy, 4)).toBe('well'.repeat(4));
    healthy = true;
    await until(async () => expect(await down()).toBe(0));
    expect(await bodies(proxy, 2)).toContain('sick');
  });
});

describe('each upstream by itself', () => {
  const merchantOf: ProxyOptions['admit'] = (request, done) => {
    if (request.belongsTo('acme')) done(FORWARD);
  };

  it('has its own connections, and a merchant its share of each', async () => {
    const [a, b] = await Promise.all(['a', 'b'].map(named));
    const proxy = await start(
      {
        upstreams: [
          { name: 'a', addresses: [origin(a!)], connections: 4 },
          { name: 'b', addresses: [origin(b!)], connections: 8 },
        ],
        routes: [
          { name: 'a', upstream: 'a', paths: ['/a/**'] },
          { name: 'b', upstream: 'b' },
        ],
      },
      { admit: merchantOf },
    );
    const hold = async (path: string): Promise<void> =>
      void (await RawClient.open(proxy.port)).write(`GET ${path} HTTP/1.1`, 'Host: x', '', '');
    for (let i = 0; i < 5; i++) await hold('/a/hold');
    for (let i = 0; i < 5; i++) await hold('/b/hold');
    // Half of what is free: one of four, three of eight.
    await until(() => proxy.metrics.inFlight === 10 && a!.held.length === 1 && b!.held.length === 3);
    expect(await metric(proxy, 'tollgate_upstream_requests_waiting{upstream="a"}')).toBe(4);
    expect(await metric(proxy, 'tollgate_upstream_requests_in_flight{upstream="b"}')).toBe(3);
    expect(await metric(proxy, 'tollgate_upstream_connections_used')).toBe(4);
    a!.held.shift()!.end();
    await until(() => expect(a!.requests).toHaveLength(2));
    expect(b!.requests).toHaveLength(3);
  });

  it('has its own time-outs', async () => {
    const [slow, other] = await Promise.all(['slow', 'other'].map(named));
    const proxy = await start({
      upstreams: [
        { name: 'slow', addresses: [origin(slow!)], headersTimeoutMs: 100 },
        { name: 'other', addresses: [origin(other!)] },
      ],
      routes: [
        { name: 'slow', upstream: 'slow', paths: ['/slow/**'] },
        { name: 'short', upstream: 'other', paths: ['/short/**'], exchangeTimeoutMs: 100 },
        { name: 'other', upstream: 'other' },
      ],
    });
    (await RawClient.open(proxy.port)).write('GET /hold HTTP/1.1', 'Host: x', '', '');
    const answers = await Promise.all(['/slow/hold', '/short/hold'].map((path) => send(proxy.port, { path })));
    expect(answers.map(({ status }) => status)).toEqual([504, 504]);
    expect(proxy.metrics.inFlight).toBe(1);
  });
});

it('a stream of events lasts as long as its route says, silent for as long as its upstream may be, while others are cut', async () => {
  const say = new Map<string, (event: string) => void>();
  const { url } = await startUpstream((request, response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    const event = (text: string): void => void response.write(`data: ${text}\n\n`);
    say.set(request.url!, event);
    event('first');
  });
  const proxy = await start(
    {
      upstreams: [
        { name: 'quiet', addresses: [url.origin], bodyIdleTimeoutMs: 3_600_000 },
        { name: 'any', addresses: [url.origin], bodyIdleTimeoutMs: 200 },
      ],
      routes: [
        { name: 'events', upstream: 'quiet', paths: ['/events'], exchangeTimeoutMs: 86_400_000 },
        { name: 'short', upstream: 'quiet', paths: ['/short'], exchangeTimeoutMs: 200 },
        { name: 'any', upstream: 'any' },
      ],
    },
    { clientIdleTimeoutMs: 200 },
  );
  const ask = async (path: string) => (await RawClient.open(proxy.port)).write(`GET ${path} HTTP/1.1`, 'Host: x', '', '');
  const [events, short, any] = await Promise.all(['/events', '/short', '/any'].map(ask));
  for (const client of [events!, short!, any!]) await client.until('data: first\n\n');
  await Promise.all([short!.closed, any!.closed]);
  for (const event of ['second', 'third']) {
    say.get('/events')!(event);
    // Each as it comes: none waits for the next.
    await events!.until(`data: ${event}\n\n`);
  }
  expect(events!.socket.destroyed).toBe(false);
  expect(proxy.metrics.inFlight).toBe(1);
});

describe('a file with routes', () => {
  let folder: string;
  beforeEach(async () => (folder = await mkdtemp(join(tmpdir(), 'routes-'))));
  afterEach(() => rm(folder, { recursive: true }));

  const fileText = (upstream: string, address: string) =>
    `version: 1\nupstreams:\n  - { name: ${upstream}, addresses: [${address}] }\nroutes:\n  - { name: all, upstream: ${upstream} }\n`;

  it('is taken when it changes, without a request lost; one that is wrong changes nothing and says where', async () => {
    const [a, b] = await Promise.all(['a', 'b'].map(named));
    const path = join(folder, 'routes.yaml');
    await writeFile(path, fileText('a', origin(a!)));
    const file = RoutesFile.open(path, DEFAULTS);
    const proxy = await startProxy(undefined, { routes: file.routes });
    const log: Record<string, unknown>[] = [];
    const logger = { info: (line: object) => log.push({ ...line }), error: (line: object) => log.push({ ...line }) };
    file.watch(logger as unknown as Parameters<RoutesFile['watch']>[0], (routes) => proxy.server.useRoutes(routes));
    try {
      const held = (await RawClient.open(proxy.port)).write('GET /hold HTTP/1.1', 'Host: x', '', '');
      await until(() => a!.held.length === 1);

      await writeFile(`${path}.new`, fileText('b', origin(b!)));
      await rename(`${path}.new`, path);
      await until(async () => expect((await send(proxy.port)).body).toBe('b'));
      expect(() => file.assertValid()).not.toThrow();

      await writeFile(path, fileText('b', origin(b!)).replace('upstream: b', 'upstream: c'));
      process.emit('SIGHUP', 'SIGHUP');
      await until(() => expect(file.refused).toBe(1));
      expect((await send(proxy.port)).body).toBe('b');
      expect(() => file.assertValid()).toThrow(/line 5: \/routes\/0\/upstream must be an upstream of the file, got "c"/);

      await rm(path);
      await until(() => expect(file.refused).toBe(2));
      expect(() => file.assertValid()).toThrow(/ENOENT/);
      expect((await send(proxy.port)).body).toBe('b');

      await writeFile(path, fileText('b', origin(b!)));
      await until(() => expect(file.isValid).toBe(true));

      // It began before all that, and its upstream has been out of the routes since.
      a!.held[0]!.end('late');
      await held.until('late');
      expect(log.map((line) => ('faults' in line ? 'refused' : 'applied'))).toEqual(['applied', 'refused', 'refused', 'applied']);
    } finally {
      file.close();
    }
  });

  it('has to be right at the beginning', async () => {
    const path = join(folder, 'routes.yaml');
    expect(() => RoutesFile.open(path, DEFAULTS)).toThrow(/cannot be read: ENOENT/);
    await writeFile(path, 'version: 1\n');
    expect(() => RoutesFile.open(path, DEFAULTS)).toThrow(/line 1: \/upstreams/);
  });
});

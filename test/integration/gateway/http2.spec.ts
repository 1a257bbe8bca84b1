import { once } from 'node:events';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { REFUSAL, settledValue, startUpstream, stopAll } from './proxy-harness.js';
import { Outcome } from '../../../apps/gateway/src/proxy/index.js';
import { until } from '../../support/until.js';
import { answerOf, ask, closeClients, openHttp2, startTlsProxy } from './tls-harness.js';

/** HTTP/2 from clients, as a good client speaks it. */

afterEach(async () => {
  closeClients();
  await stopAll();
});

interface Seen {
  method: string | undefined;
  url: string | undefined;
  headers: IncomingHttpHeaders;
  rawHeaders: string[];
  body: string;
}

async function startEcho() {
  const seen: Seen[] = [];
  const upstream = await startUpstream((request, response) => {
    let body = '';
    request.setEncoding('latin1').on('data', (chunk) => (body += String(chunk)));
    request.on('end', () => {
      const { method, url, headers, rawHeaders } = request;
      seen.push({ method, url, headers, rawHeaders, body });
      response.setHeader('Set-Cookie', ['a=1', 'b=2']).setHeader('X-Up', 'yes').end(`<${body}>`);
    });
  });
  return { seen, url: upstream.url };
}

it('a request reaches the upstream as HTTP/1.1, and its answer comes back', async () => {
  const { seen, url } = await startEcho();
  const { port, asked } = await startTlsProxy(url);
  const session = await openHttp2(port);
  const answer = await ask(
    session,
    { ':method': 'PUT', ':path': '/a?b=c', 'x-merchant-id': 'acme', cookie: ['a=1', 'b=2'], 'x-list': ['1', '2'] },
    'hello',
  );
  expect(answer).toMatchObject({ status: 200, body: '<hello>', headers: { 'x-up': 'yes', 'set-cookie': ['a=1', 'b=2'] } });
  expect(Object.keys(answer.headers)).not.toEqual(expect.arrayContaining(['connection', 'transfer-encoding', 'keep-alive']));
  expect(asked[0]).toMatchObject({ method: 'PUT', target: '/a?b=c', hostName: `localhost:${port}` });
  expect(asked[0]!.headerValues('x-list')).toEqual(['1', '2']);
  const [sent] = seen;
  expect(sent).toMatchObject({ method: 'PUT', url: '/a?b=c', body: 'hello' });
  expect(sent!.headers).toMatchObject({
    cookie: 'a=1; b=2',
    host: `localhost:${port}`,
    'x-forwarded-proto': 'https',
    'x-merchant-id': 'acme',
  });
  expect(sent!.rawHeaders.filter((name) => name.startsWith(':') || name.toLowerCase() === 'cookie')).toEqual(['cookie']);
});

it.each([
  ['none', undefined, {}],
  ['one that is announced', 'abc', { 'content-length': 3 }],
  ['one that is not announced', 'abc', {}],
  ['a large one', 'x'.repeat(300_000), {}],
  ['an announced one that is empty', '', { 'content-length': 0 }],
])('a body reaches the upstream byte for byte: %s', async (_case, body, headers) => {
  const { seen, url } = await startEcho();
  const session = await openHttp2((await startTlsProxy(url)).port);
  expect(await ask(session, { ':method': 'POST', ...headers }, body)).toMatchObject({ status: 200, body: `<${body ?? ''}>` });
  expect(seen[0]!.body).toBe(body ?? '');
});

it('HEAD, 204 and 304 have no body, and their headers stay', async () => {
  const { url } = await startUpstream((request, response) => {
    const status = Number(request.url!.slice(1));
    response.writeHead(status, status === 200 ? { 'Content-Length': 5 } : {}).end(status === 200 ? 'hello' : undefined);
  });
  const session = await openHttp2((await startTlsProxy(url)).port);
  const head = await ask(session, { ':method': 'HEAD', ':path': '/200' });
  expect(head).toMatchObject({ status: 200, body: '', headers: { 'content-length': '5' } });
  for (const status of [204, 304]) expect(await ask(session, { ':path': `/${status}` })).toMatchObject({ status, body: '' });
});

it('OPTIONS and the preflight of a browser pass', async () => {
  const { seen, url } = await startEcho();
  const session = await openHttp2((await startTlsProxy(url)).port);
  const preflight = { ':method': 'OPTIONS', origin: 'https://shop.example', 'access-control-request-method': 'POST' };
  expect(await ask(session, preflight)).toMatchObject({ status: 200 });
  expect(seen[0]).toMatchObject({ method: 'OPTIONS', headers: { origin: 'https://shop.example' } });
});

it('a refusal is answered as by HTTP/1.1, and an unread body costs the connection nothing', async () => {
  const { seen, url } = await startEcho();
  const { port } = await startTlsProxy(
    url,
    {},
    { admit: (request, done) => done(request.method === 'GET' ? { forward: true, responseHeaders: [] } : REFUSAL) },
  );
  const session = await openHttp2(port);
  const refused = await ask(session, { ':method': 'POST' }, 'x'.repeat(50_000));
  expect(refused).toMatchObject({
    status: 429,
    headers: { 'retry-after': '1', 'content-type': 'application/problem+json' },
    body: expect.stringContaining('Too Many Requests') as unknown,
  });
  expect(await ask(session)).toMatchObject({ status: 200 });
  expect(seen).toHaveLength(1);
});

it.each([
  ['a host beside :authority that differs', { ':authority': 'x', host: 'other' }, 400, 'host.differs'],
  ['another scheme', { ':scheme': 'http' }, 400, 'target.scheme'],
  ['an asterisk', { ':path': '*', ':method': 'OPTIONS' }, 501, 'target.asterisk'],
  ['a path that servers read differently', { ':path': '/a/../b' }, 400, 'path.ambiguous'],
  ['TRACE', { ':method': 'TRACE' }, 405, 'method.not_allowed'],
  ['an unknown method', { ':method': 'BREW' }, 405, 'method.not_allowed'],
  ['another expectation', { expect: 'tea' }, 417, 'expectation.not_supported'],
])('%s is refused, and the connection goes on', async (_case, headers, status, code) => {
  const { seen, url } = await startEcho();
  const { port } = await startTlsProxy(url);
  const session = await openHttp2(port);
  const answer = await ask(session, headers);
  expect({ status: answer.status, code: (JSON.parse(answer.body) as { code: string }).code }).toEqual({ status, code });
  expect(seen).toEqual([]);
  expect(await ask(session, { host: `localhost:${port}` })).toMatchObject({ status: 200 });
});

it('CONNECT is not supported', async () => {
  const { port } = await startTlsProxy((await startEcho()).url);
  const stream = (await openHttp2(port)).request({ ':method': 'CONNECT', ':authority': 'a:1' });
  const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
  expect(headers[':status']).toBe(501);
  stream.destroy();
});

it('a client that expects 100-continue is asked for the body once the request may pass, and only then', async () => {
  const { seen, url } = await startEcho();
  const { port } = await startTlsProxy(
    url,
    {},
    { admit: (request, done) => done(request.target === '/no' ? REFUSAL : { forward: true, responseHeaders: [] }) },
  );
  const session = await openHttp2(port);
  for (const [path, status, asked] of [
    ['/no', 429, false],
    ['/yes', 200, true],
  ] as const) {
    const stream = session.request({ ':method': 'POST', ':path': path, expect: '100-continue' });
    let wasAsked = false;
    stream.on('continue', () => {
      wasAsked = true;
      stream.end('body');
    });
    expect(await answerOf(stream)).toMatchObject({ status });
    expect(wasAsked).toBe(asked);
    if (!asked) stream.close();
  }
  expect(seen.map(({ body }) => body)).toEqual(['body']);
});

it('an answer is streamed, and waits for a client that does not read, while others go on', async () => {
  let written = 0;
  const { url } = await startUpstream((request, response) => {
    if (request.url === '/small') return void response.end('small');
    const more = (): void => {
      while (!response.destroyed && written < 50_000_000) {
        written += 65_536;
        if (!response.write(Buffer.alloc(65_536))) return void response.once('drain', more);
      }
    };
    more();
  });
  const session = await openHttp2((await startTlsProxy(url)).port);
  const stalled = session.request({ ':path': '/large' });
  await once(stalled, 'response');
  const held = await settledValue(() => written);
  expect(held).toBeLessThan(50_000_000);
  expect(await ask(session, { ':path': '/small' })).toMatchObject({ body: 'small' });
  stalled.resume();
  await until(() => written > held);
  stalled.close();
});

it('a stream of events is passed on event by event', async () => {
  let say: (event: string) => void = () => {};
  const { url } = await startUpstream((_request, response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    say = (event) => void response.write(`data: ${event}\n\n`);
    say('first');
  });
  const session = await openHttp2((await startTlsProxy(url)).port);
  const stream = session.request({ ':path': '/events', accept: 'text/event-stream' });
  let got = '';
  stream.setEncoding('utf8').on('data', (piece) => (got += String(piece)));
  for (const [event, next] of [
    ['first', 'second'],
    ['second', 'third'],
    ['third', 'last'],
  ] as const) {
    await until(() => got.endsWith(`data: ${event}\n\n`));
    say(next);
  }
  stream.close();
});

it('early hints and trailers of the upstream are passed on', async () => {
  const { url } = await startUpstream((request, response) => {
    response.writeEarlyHints({ link: '</a.css>; rel=preload', 'set-cookie': 'a=1' });
    response.writeHead(200);
    if (request.url === '/body') response.write('body');
    response.addTrailers([
      ['X-Sum', '1'],
      ['X-Sum', '2'],
      ['Set-Cookie', 'a=1'],
      ['Connection', 'x'],
    ]);
    response.end();
  });
  const session = await openHttp2((await startTlsProxy(url)).port);
  for (const path of ['/body', '/none']) {
    const stream = session.request({ ':path': path });
    const hints: object[] = [];
    stream.on('headers', (headers) => hints.push(Object.entries(headers)));
    expect(await answerOf(stream)).toMatchObject({ status: 200, body: path === '/body' ? 'body' : '', trailers: { 'x-sum': '1, 2' } });
    expect(hints).toEqual([
      [
        [':status', 103],
        ['link', '</a.css>; rel=preload'],
      ],
    ]);
    expect(stream.rstCode).toBe(0);
  }
  const head = await ask(session, { ':method': 'HEAD' });
  expect([head.status, head.trailers]).toEqual([200, {}]);
});

it('an upload waits for an upstream that does not read', async () => {
  const { url } = await startUpstream((request) => void request.pause());
  const session = await openHttp2((await startTlsProxy(url)).port);
  const stream = session.request({ ':method': 'POST' });
  let taken = 0;
  const chunk = Buffer.alloc(65_536);
  const more = (): void => {
    if (taken < 50_000_000)
      stream.write(chunk, () => {
        taken += chunk.length;
        more();
      });
  };
  more();
  expect(await settledValue(() => taken)).toBeLessThan(50_000_000);
  stream.destroy();
});

it('an answer in the middle of an upload ends the exchange, and the stream is closed without an error', async () => {
  const { url } = await startUpstream((_request, response) => response.writeHead(413).end('enough'));
  const session = await openHttp2((await startTlsProxy(url)).port);
  const stream = session.request({ ':method': 'POST' });
  stream.write(Buffer.alloc(30_000));
  expect(await answerOf(stream)).toMatchObject({ status: 413, body: 'enough' });
  if (!stream.closed) await once(stream, 'close');
  expect(stream.rstCode).toBe(0);
  expect(await ask(session)).toMatchObject({ status: 413 });
});

it('a client that gives a request up ends it at the upstream, and the other streams go on', async () => {
  const held: ServerResponse[] = [];
  let gone = 0;
  const { url } = await startUpstream((request, response) => {
    held.push(response);
    request.on('close', () => (gone += response.writableFinished ? 0 : 1));
  });
  const { port, metrics } = await startTlsProxy(url);
  const session = await openHttp2(port);
  const first = session.request({ ':path': '/1' });
  const second = ask(session, { ':path': '/2' });
  await until(() => held.length === 2);
  first.close(8);
  await until(() => gone === 1);
  for (const response of held) response.end('done');
  expect(await second).toMatchObject({ body: 'done' });
  await until(() => metrics.inFlight === 0);
  expect(metrics.count(Outcome.ClientClosed)).toBe(1);
});

it('a broken upstream is 502, and one that breaks in its answer resets the stream, and no other', async () => {
  const { url } = await startUpstream((request, response) => {
    if (request.url !== '/' && request.url !== '/none')
      response
        .writeHead(200, request.url === '/announced' ? { 'Content-Length': 10 } : {})
        .write('half', () => setImmediate(() => request.socket.destroy()));
    else if (request.url === '/none') request.socket.destroy();
    else response.end('fine');
  });
  const session = await openHttp2((await startTlsProxy(url)).port);
  expect(await ask(session, { ':path': '/none' })).toMatchObject({ status: 502 });
  for (const path of ['/announced', '/not-announced'])
    await expect(ask(session, { ':path': path })).rejects.toThrow('NGHTTP2_INTERNAL_ERROR');
  expect(await ask(session)).toMatchObject({ body: 'fine' });
});

it('of the streams of one connection the least critical is refused where the upstream has too much to do, and the most critical is served', async () => {
  const held: ServerResponse[] = [];
  const { url } = await startUpstream((request, response) => {
    if (request.url!.endsWith('/hold')) held.push(response);
    else response.end('done');
  });
  const { port, asked, metrics } = await startTlsProxy(
    url,
    {},
    {
      connections: 10,
      merchantShare: 100,
      queueTimeoutMs: 60_000,
      criticalityOf: ({ target }) => (target.startsWith('/report') ? 'sheddable' : target.startsWith('/pay') ? 'critical' : 'normal'),
      overload: { adaptiveFrom: undefined, reserve: 0.2 },
    },
  );
  const session = await openHttp2(port);
  const hold = (path: string) => session.request({ ':path': path }).on('error', () => {});
  for (let i = 0; i < 6; i++) hold('/report/hold');
  await until(() => held.length === 6);
  const refused = await ask(session, { ':path': '/report' });
  expect(refused).toMatchObject({ status: 503, headers: { 'retry-after': '5' } });
  expect(JSON.parse(refused.body)).toMatchObject({ code: 'upstream.overloaded' });
  expect(asked).toHaveLength(6);
  for (let i = 0; i < 2; i++) hold('/normal/hold');
  await until(() => held.length === 8);
  const waits = hold('/normal/hold');
  await until(() => metrics.slots.waiting === 1);
  expect(await ask(session, { ':path': '/pay' })).toMatchObject({ status: 200, body: 'done' });
  expect(metrics.slots.waiting).toBe(1);
  // A stream that is given up leaves the queue, and the connection goes on.
  waits.close(8);
  await until(() => metrics.slots.waiting === 0);
  expect(await ask(session, { ':path': '/pay' })).toMatchObject({ status: 200 });
});

describe('a gateway that drains', () => {
  async function startHeld() {
    const held: ServerResponse[] = [];
    const { url } = await startUpstream((_request, response) => held.push(response));
    return { held, ...(await startTlsProxy(url)) };
  }

  it('tells a connection to open no more streams, and answers those that are there', async () => {
    const { held, port, server } = await startHeld();
    const session = await openHttp2(port);
    const answer = ask(session);
    await until(() => held.length === 1);
    const told = once(session, 'goaway');
    const closing = server.close(20_000);
    expect((await told)[0]).toBe(0);
    held[0]!.end('done');
    expect(await answer).toMatchObject({ status: 200, body: 'done' });
    await closing;
  });

  it('serves a stream that was on its way when it was told', async () => {
    const { held, port, server } = await startHeld();
    const session = await openHttp2(port);
    // Both sides act in the same turn: neither has read the other.
    server.drain();
    const answer = ask(session);
    await until(() => held.length === 1);
    held[0]!.end('done');
    expect(await answer).toMatchObject({ status: 200, body: 'done' });
    await server.close(20_000);
  });

  it('closes idle connections', async () => {
    const { held, port, server, metrics } = await startHeld();
    const idle = await openHttp2(port);
    await server.close(20_000);
    await until(() => idle.closed);
    expect(held).toEqual([]);
    expect(metrics.inFlight).toBe(0);
  });

  it('cuts at the end of its time what does not end', async () => {
    const { held, port, server, metrics } = await startHeld();
    const stream = (await openHttp2(port)).request({ ':path': '/' });
    stream.on('error', () => {});
    await until(() => held.length === 1);
    await server.close(100);
    await until(() => stream.closed);
    expect(metrics.inFlight).toBe(0);
  });
});

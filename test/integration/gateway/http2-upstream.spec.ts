import { once } from 'node:events';
import {
  constants,
  createServer as createHttp2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type ServerOptions,
} from 'node:http2';
import { connect as connectTcp, type Server, type Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { buildConnector } from 'undici';
import type { ProxyOptions } from '../../../apps/gateway/src/proxy/index.js';
import { Http2UpstreamConnection } from '../../../apps/gateway/src/proxy/upstream/http2-upstream-connection.js';
import { readRoutes, type RouteDefaults } from '../../../apps/gateway/src/routes/read-routes.js';
import { freePort } from '../../../scripts/ports.mjs';
import { Flag, frame, FrameType, headerBlock, PREFACE, readFrames, resetStream, settings } from '../../support/http2-frames.js';
import { until } from '../../support/until.js';
import { listening, RawClient, send, startProxy, startTcpUpstream, startUpstream, stopAll, type RunningProxy } from './proxy-harness.js';
import { answerOf, closeClients, openHttp2, startTlsProxy } from './tls-harness.js';

/** Upstreams that speak HTTP/2 without TLS. */

afterEach(async () => {
  closeClients();
  await stopAll();
});

const h2c = ({ url }: { url: URL }): URL => new URL(url.href.replace(/^http:/, 'h2c:'));

const origin = ({ url }: { url: URL }): string => url.href.replace(/\/$/, '');

const DEFAULTS: RouteDefaults = {
  connections: 16,
  queueTimeoutMs: 60_000,
  headersTimeoutMs: 30_000,
  bodyIdleTimeoutMs: 30_000,
  exchangeTimeoutMs: 60_000,
  ownHeaders: [],
};

interface Http2Upstream {
  readonly url: URL;
  readonly sessions: ServerHttp2Session[];
  readonly streams: ServerHttp2Stream[];
}

type Handler = (request: Http2ServerRequest, response: Http2ServerResponse) => void;

async function startHttp2(handler: Handler, options: ServerOptions = {}): Promise<Http2Upstream> {
  const [sessions, streams]: [ServerHttp2Session[], ServerHttp2Stream[]] = [[], []];
  const server = createHttp2Server(options, handler);
  server.on('session', (session) => sessions.push(session));
  server.on('stream', (stream) => streams.push(stream.on('error', () => {})));
  server.on('sessionError', () => {});
  return { url: h2c(await listening(server as unknown as Server)), sessions, streams };
}

/** An upstream that writes frames, be they right or not: it is told of each request, once that has arrived whole. */
async function startFrames(answer: (socket: Socket, streamId: number) => void): Promise<URL> {
  const upstream = await startTcpUpstream((socket) => {
    let rest: Buffer = Buffer.alloc(0);
    let greeted = false;
    socket.write(settings());
    socket.on('data', (chunk: Buffer) => {
      rest = Buffer.concat([rest, chunk]);
      if (!greeted && rest.length < PREFACE.length) return;
      if (!greeted) rest = rest.subarray(PREFACE.length);
      greeted = true;
      const read = readFrames(rest);
      rest = read.rest;
      for (const { type, flags, streamId } of read.frames) {
        if (type === FrameType.settings && (flags & Flag.ack) === 0) socket.write(frame(FrameType.settings, Flag.ack, 0));
        if (streamId > 0 && (flags & Flag.endStream) !== 0 && type <= FrameType.headers) answer(socket, streamId);
      }
    });
  });
  return h2c(upstream);
}

const OK = headerBlock([[':status', '200']]);
const LONGER = [
  [':status', '200'],
  ['content-length', '9'],
] as const;

describe('a request to an upstream of HTTP/2', () => {
  it('arrives with its headers, its host and its body, and the answer comes back with hints, cookies and trailers', async () => {
    const seen: Record<string, unknown>[] = [];
    const upstream = await startHttp2((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (chunk) => (body += String(chunk)));
      request.on('end', () => {
        seen.push({ ...request.headers, body, trailers: request.rawTrailers });
        response.writeEarlyHints({ link: '</style.css>; rel=preload' });
        response.writeHead(201, { 'set-cookie': ['a=1', 'b=2'], 'x-up': 'yes' });
        response.write('<');
        response.addTrailers({ 'x-sum': '42', 'set-cookie': 'c=3' });
        response.end(`${body}>`);
      });
    });
    const { port } = await startProxy(upstream.url);
    const client = await RawClient.open(port);
    client.write('POST /pay?x=1 HTTP/1.1', 'Host: api.example.com', 'TE: trailers', 'X-List: 1', 'X-List: 2', 'Cookie: a=1');
    client.write('', 'Transfer-Encoding: chunked', '', '5', 'hello', '0', 'X-Check: sum', 'Cache-Control: no-store', '', '');
    const answer = await client.until(/x-sum: 42\r\n\r\n$/i);
    expect(answer).toMatch(/^HTTP\/1\.1 103 Early Hints\r\nlink: <\/style\.css>; rel=preload\r\n\r\nHTTP\/1\.1 201 Created\r\n/);
    expect(answer).toContain('set-cookie: a=1\r\nset-cookie: b=2\r\nx-up: yes\r\n');
    expect(answer).not.toContain('c=3');
    expect(answer.replace(/\r\n[0-9a-f]+\r\n/g, '')).toContain('<hello>');
    expect(seen).toMatchObject([
      { ':method': 'POST', ':path': '/pay?x=1', ':scheme': 'http', ':authority': 'api.example.com', te: 'trailers', 'x-list': '1, 2' },
    ]);
    expect(seen[0]).toMatchObject({ cookie: 'a=1', body: 'hello' });
    expect(seen[0]!['trailers']).toEqual(['x-check', 'sum']);
    expect(Object.keys(seen[0]!)).not.toEqual(expect.arrayContaining(['transfer-encoding', 'connection', 'host']));
  });

  it('shares a connection with others, as far as the upstream wants it', async () => {
    const held: Http2ServerResponse[] = [];
    const upstream = await startHttp2((_request, response) => held.push(response), { settings: { maxConcurrentStreams: 2 } });
    const { port } = await startProxy(upstream.url);
    const answers = Array.from({ length: 5 }, (_, i) => send(port, { path: `/${i}` }));
    await until('all are there', () => held.length === 5);
    expect(upstream.sessions).toHaveLength(3);
    for (const response of held) response.end('done');
    expect((await Promise.all(answers)).map(({ status, body }) => [status, body])).toEqual(Array(5).fill([200, 'done']));
  });

  it('with a header twice that HTTP/2 has once is refused, and not sent', async () => {
    const upstream = await startHttp2((_request, response) => response.end());
    const { port } = await startProxy(upstream.url);
    const client = await RawClient.open(port);
    client.write('GET / HTTP/1.1', 'Host: a', 'Content-Type: a/b', 'Content-Type: c/d', '', '');
    expect(await client.until(/request\.not_forwardable/)).toMatch(/^HTTP\/1\.1 400 /);
    expect(upstream.streams).toHaveLength(0);
    expect((await send(port)).status).toBe(200);
  });

  it('from a client of HTTP/2 streams both ways at the same time', async () => {
    const upstream = await startHttp2((request, response) => {
      response.writeHead(200, { 'content-type': 'application/grpc' });
      request.on('data', (chunk: Buffer) => response.write(chunk));
      request.on('end', () => {
        response.addTrailers({ 'grpc-status': '0' });
        response.end();
      });
    });
    const { port } = await startTlsProxy(upstream.url);
    const session = await openHttp2(port);
    const stream = session.request({ ':method': 'POST', ':path': '/pay.Payments/Stream', te: 'trailers' });
    stream.write(Buffer.alloc(20_000, 'a'));
    const answer = answerOf(stream);
    const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
    expect(headers).toMatchObject({ ':status': 200, 'content-type': 'application/grpc' });
    stream.end('b');
    expect(await answer).toMatchObject({ body: `${'a'.repeat(20_000)}b`, trailers: { 'grpc-status': '0' } });
  });

  it('that is a handshake of a WebSocket is refused', async () => {
    const upstream = await startHttp2((_request, response) => response.end());
    const { port } = await startProxy(upstream.url);
    const client = await RawClient.open(port);
    client.write('GET / HTTP/1.1', 'Host: a', 'Connection: Upgrade', 'Upgrade: websocket');
    client.write('', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==', '', '');
    expect(await client.until(/request\.upgrade/)).toMatch(/^HTTP\/1\.1 501 /);
  });
});

describe('an upstream of HTTP/2 that', () => {
  const statusOf = async (upstream: URL, options: Partial<ProxyOptions> = {}): Promise<[number, RunningProxy]> => {
    const proxy = await startProxy(upstream, { connectTimeoutMs: 60_000, headersTimeoutMs: 60_000, ...options });
    return [(await send(proxy.port)).status, proxy];
  };

  it('is not there: 502', async () => {
    expect((await statusOf(new URL(`h2c://127.0.0.1:${await freePort()}`)))[0]).toBe(502);
  });

  it('speaks HTTP/1.1: 502', async () => {
    const upstream = await startUpstream((_request, response) => response.end('hello'));
    expect((await statusOf(h2c(upstream)))[0]).toBe(502);
  });

  it('says nothing at all on its connections: 504', async () => {
    const upstream = await startTcpUpstream((socket) => socket.resume());
    expect((await statusOf(h2c(upstream), { connectTimeoutMs: 100 }))[0]).toBe(504);
  });

  it('does not answer in time: 504', async () => {
    const upstream = await startHttp2(() => {});
    expect((await statusOf(upstream.url, { headersTimeoutMs: 100 }))[0]).toBe(504);
  });

  it('takes no requests: 502, once', async () => {
    const upstream = await startHttp2((_request, response) => response.end(), { settings: { maxConcurrentStreams: 0 } });
    expect((await statusOf(upstream.url))[0]).toBe(502);
    expect(upstream.sessions).toHaveLength(1);
  });

  it('resets the request: 502', async () => {
    const upstream = await startFrames((socket, id) => socket.write(resetStream(id, constants.NGHTTP2_INTERNAL_ERROR)));
    expect((await statusOf(upstream))[0]).toBe(502);
  });

  it('closes its connection: 502', async () => {
    expect((await statusOf(await startFrames((socket) => socket.destroy())))[0]).toBe(502);
  });

  it('answers with more headers than are taken: 502', async () => {
    const many = headerBlock([[':status', '200'], ...Array.from({ length: 30 }, (_, i) => [`x-${i}`, 'x'.repeat(1000)] as const)]);
    const upstream = await startFrames((socket, id) => {
      socket.write(frame(FrameType.headers, Flag.endStream, id, many.subarray(0, 16_384)));
      socket.write(frame(FrameType.continuation, Flag.endHeaders, id, many.subarray(16_384)));
    });
    expect((await statusOf(upstream))[0]).toBe(502);
  });

  it.each([
    ['with an error', [[':status', '200']], (id: number) => resetStream(id, constants.NGHTTP2_INTERNAL_ERROR)],
    ['without an error, and too early', LONGER, (id: number) => resetStream(id, constants.NGHTTP2_NO_ERROR)],
    ['with its connection', [[':status', '200']], undefined],
  ] as const)('breaks its answer off %s: the client does not get the end of it', async (_how, headers, reset) => {
    const upstream = await startFrames((socket, id) => {
      socket.write(frame(FrameType.headers, Flag.endHeaders, id, headerBlock(headers)));
      socket.write(frame(FrameType.data, 0, id, Buffer.from('half')));
      if (reset === undefined) socket.end();
      else socket.write(reset(id));
    });
    const { port, log } = await startProxy(upstream);
    const client = await RawClient.open(port);
    client.write('GET / HTTP/1.1', 'Host: a', '', '');
    await client.closed;
    expect(client.received).not.toContain('0\r\n\r\n');
    expect(log).toMatchObject([{ kind: 'reset' }]);
  });

  it('ends its answer by a reset without an error, as node does: it counts', async () => {
    const upstream = await startFrames((socket, id) => {
      const answer = [frame(FrameType.headers, Flag.endHeaders, id, OK), frame(FrameType.data, 0, id, Buffer.from('whole'))];
      socket.write(Buffer.concat([...answer, resetStream(id, constants.NGHTTP2_NO_ERROR)]));
    });
    const { port } = await startProxy(upstream);
    expect(await send(port)).toMatchObject({ status: 200, body: 'whole' });
  });

  it('resets what it has answered whole: the answer counts', async () => {
    const upstream = await startFrames((socket, id) => {
      const answer = [frame(FrameType.headers, Flag.endHeaders, id, OK), frame(FrameType.data, Flag.endStream, id, Buffer.from('whole'))];
      socket.write(Buffer.concat([...answer, resetStream(id, constants.NGHTTP2_NO_ERROR)]));
    });
    const { port } = await startProxy(upstream);
    expect(await send(port)).toMatchObject({ status: 200, body: 'whole' });
  });

  it('is about to end finishes what it has begun, and gets nothing more on that connection', async () => {
    const held: Http2ServerResponse[] = [];
    const upstream = await startHttp2(({ url }, response) => (url === '/hold' ? held.push(response) : response.end('new')));
    const { port } = await startProxy(upstream.url);
    const begun = send(port, { path: '/hold' });
    await until('it has begun', () => held.length === 1);
    upstream.sessions[0]!.close();
    await until('the next one has a connection of its own', async () => {
      expect((await send(port)).body).toBe('new');
      return upstream.sessions.length === 2;
    });
    held[0]!.end('old');
    expect(await begun).toMatchObject({ status: 200, body: 'old' });
  });
});

it('health checks ask an upstream of HTTP/2 in its own way', async () => {
  const healthy = await startHttp2(({ url }, response) => (url === '/up' ? response.writeHead(204).end() : response.end('healthy')));
  const sick = await startHttp2(({ url }, response) => (url === '/up' ? response.writeHead(500).end() : response.end('sick')));
  const activeHealth = { path: '/up', intervalMs: 100, timeoutMs: 10_000, failures: 1 };
  const upstream = { name: 'x', addresses: [origin(sick), origin(healthy)], activeHealth };
  const document = { version: 1, upstreams: [upstream], routes: [{ name: 'x', upstream: 'x' }] };
  const proxy = await startProxy(undefined, { routes: readRoutes(JSON.stringify(document), DEFAULTS) });
  await until(async () => expect(await proxy.scrape()).toContain('tollgate_upstream_addresses{upstream="x",state="down"} 1'));
  for (let i = 0; i < 3; i++) expect((await send(proxy.port)).body).toBe('healthy');
});

it('an upload that its client breaks off does not look whole to the upstream', async () => {
  const upstream = await startHttp2((request) => request.resume());
  const { port } = await startProxy(upstream.url);
  const socket = connectTcp(port, '127.0.0.1');
  socket.write(`POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${(20_000).toString(16)}\r\n${'a'.repeat(20_000)}\r\n`);
  await until('it is there', () => upstream.streams.length === 1);
  socket.destroy();
  await until('it is given up', () => upstream.streams[0]!.destroyed);
  expect(upstream.streams[0]).toMatchObject({ aborted: true, rstCode: constants.NGHTTP2_CANCEL });
});

it('a client that does not read holds nobody up on the connection that it shares', async () => {
  const upstream = await startHttp2(({ url }, response) => {
    if (url === '/big') response.end(Buffer.alloc(8 * 2 ** 20));
    else response.end('small');
  });
  const { port } = await startProxy(upstream.url);
  const slow = connectTcp(port, '127.0.0.1').pause();
  slow.write('GET /big HTTP/1.1\r\nHost: a\r\n\r\n');
  await until('it waits', () => upstream.streams[0] !== undefined && upstream.streams[0].writableLength > 0);
  for (let i = 0; i < 5; i++) expect((await send(port)).body).toBe('small');
  expect(upstream.sessions).toHaveLength(1);
  let bytes = 0;
  slow.on('data', (chunk: Buffer) => (bytes += chunk.length)).resume();
  await until('all of it has come', () => bytes > 8 * 2 ** 20);
  slow.destroy();
});

describe('a connection of HTTP/2 to an upstream', () => {
  /** On which no time passes but that of `tick`. */
  function connectionTo({ url }: { url: URL }) {
    const closed: unknown[] = [];
    const owner = { place: () => {}, closed: (connection: unknown) => closed.push(connection) };
    const limits = { connectTimeoutMs: 60_000, headersTimeoutMs: 2_000, bodyIdleTimeoutMs: 60_000 };
    const server = new URL(url.href.replace(/^h2c:/, 'http:'));
    const connection = new Http2UpstreamConnection(server, buildConnector({}), limits, owner);
    const ask = (path = '/') => {
      const seen: { sent?: boolean; completed?: boolean; error?: Error } = {};
      connection.take(
        { method: 'GET', path, headers: [], body: null, trailed: null },
        {
          onConnect: () => (seen.sent = true),
          onHeaders: () => true,
          onData: () => true,
          onComplete: () => (seen.completed = true),
          onError: (error) => (seen.error = error),
        },
      );
      return seen;
    };
    return { connection, ask, closed };
  }

  it('gives up what is not answered in time, and serves others', async () => {
    const upstream = await startHttp2(({ url }, response) => (url === '/' ? undefined : response.end()));
    const { connection, ask } = connectionTo(upstream);
    const late = ask();
    await until('it has arrived', () => upstream.streams.length === 1);
    connection.tick(1_500);
    const other = ask('/other');
    connection.tick(1_500);
    expect(late.error).toMatchObject({ code: 'UND_ERR_HEADERS_TIMEOUT' });
    await until('the other one is answered', () => other.completed === true);
    connection.end(new Error('the test is over'));
  });

  it('is cut, with what waits on it, when the upstream has gone away without a word', async () => {
    const silent = await startTcpUpstream((socket) => socket.resume().write(settings()));
    const { connection, ask, closed } = connectionTo(silent);
    // Not the first word of an answer: then it would be too late after two seconds.
    const body = new PassThrough();
    let error: Error | undefined;
    connection.take(
      { method: 'POST', path: '/', headers: [], body, trailed: null },
      { onConnect: () => {}, onHeaders: () => true, onData: () => true, onComplete: () => {}, onError: (why) => (error = why) },
    );
    const other = ask();
    await until('it is sent', () => other.sent === true);
    // The first look takes note of what has come so far.
    for (let i = 0; i < 3; i++) connection.tick(4_000);
    expect(error).toBeUndefined();
    connection.tick(4_000);
    expect(error?.message).toBe('the upstream does not answer on its connection');
    expect(closed).toEqual([connection]);
  });

  it('is closed when nobody has needed it for a while', async () => {
    const upstream = await startHttp2((_request, response) => response.end());
    const { connection, ask, closed } = connectionTo(upstream);
    const first = ask();
    await until('it is answered', () => first.completed === true);
    connection.tick(3_000);
    expect(connection.hasRoom).toBe(true);
    connection.tick(3_000);
    expect(connection.hasRoom).toBe(false);
    await until('it is closed', () => closed.length === 1);
  });
});

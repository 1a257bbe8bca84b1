import { Agent, type IncomingMessage } from 'node:http';
import { until } from '../../support/until.js';
import { RawClient, send, startProxy, startTcpUpstream, startUpstream, stopAll } from './proxy-harness.js';

afterEach(stopAll);

/** An upstream that tells what it got. */
const echo = () =>
  startUpstream((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      const { method, url, rawHeaders } = request;
      response.end(JSON.stringify({ method, url, headers: Object.fromEntries(lowerCasePairs(rawHeaders)), body }));
    });
  });

function lowerCasePairs(raw: string[]): string[][] {
  return Array.from({ length: raw.length / 2 }, (_, i) => [raw[2 * i]!.toLowerCase(), raw[2 * i + 1]!]);
}

describe('a request', () => {
  it('reaches the upstream with method, target, headers and body', async () => {
    const { port } = await startProxy((await echo()).url);
    const headers = { 'X-Thing': 'a', 'X-Merchant-Id': 'acme', 'Content-Type': 'application/json', Connection: 'x-thing' };
    const answer = await send(port, { method: 'POST', path: '/a/b%20?c=%20d//..', headers, body: '{"amount":1}' });
    expect(answer.status).toBe(200);
    const got = JSON.parse(answer.body);
    expect(got).toMatchObject({ method: 'POST', url: '/a/b%20?c=%20d//..', body: '{"amount":1}' });
    expect(got.headers).toEqual({
      host: `127.0.0.1:${port}`,
      connection: 'keep-alive',
      'content-type': 'application/json',
      'content-length': '12',
      'x-merchant-id': 'acme',
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-proto': 'http',
      'x-forwarded-host': `127.0.0.1:${port}`,
      'x-request-id': answer.headers['x-request-id'],
    });
  });

  it('carries the Host of the upstream if that is wished', async () => {
    const upstream = await echo();
    const { port } = await startProxy(upstream.url, { host: 'upstream' });
    const { headers } = JSON.parse((await send(port, { headers: { Host: 'shop.example' } })).body);
    expect(headers).toMatchObject({ host: upstream.url.host, 'x-forwarded-host': 'shop.example' });
  });

  it('of an untrusted peer says nothing about the merchant or its way', async () => {
    const { port } = await startProxy((await echo()).url, { trusts: () => false });
    const headers = { 'X-Merchant-Id': 'acme', 'X-Forwarded-For': '1.1.1.1', 'X-Forwarded-Proto': 'https', 'X-Real-Ip': '1.1.1.1' };
    const got = JSON.parse((await send(port, { headers })).body).headers;
    expect(got).toMatchObject({ 'x-forwarded-for': '127.0.0.1', 'x-forwarded-proto': 'http' });
    expect(Object.keys(got)).not.toEqual(expect.arrayContaining(['x-merchant-id']));
    expect(Object.keys(got)).not.toEqual(expect.arrayContaining(['x-real-ip']));
  });

  it.each(['PUT', 'PATCH', 'DELETE', 'GET'])('with a small body may be a %s', async (method) => {
    const { port } = await startProxy((await echo()).url);
    const got = JSON.parse((await send(port, { method, headers: { 'Content-Length': 3 }, body: 'abc' })).body);
    expect(got).toMatchObject({ method, body: 'abc' });
  });

  it('may have its small body arrive in pieces, or in chunks', async () => {
    const { port, asked } = await startProxy((await echo()).url);
    const client = await RawClient.open(port);
    client.write('POST /a HTTP/1.1', 'Host: x', 'Content-Length: 6', '', 'abc');
    await until(() => asked.length === 1);
    client.write('def');
    await client.until('"body":"abcdef"');
    client.write('POST /b HTTP/1.1', 'Host: x', 'Transfer-Encoding: chunked', '', '3', 'ghi', '2', 'jk', '0', 'X-Trailer: 1', '', '');
    await client.until('"body":"ghijk"');
    expect(client.statuses).toEqual([200, 200]);
  });

  it('has its own request id, sent upstream and back, if that is valid', async () => {
    const { port, asked } = await startProxy((await echo()).url);
    const mine = await send(port, { headers: { 'X-Request-Id': 'mine-1' } });
    expect([mine.headers['x-request-id'], JSON.parse(mine.body).headers['x-request-id']]).toEqual(['mine-1', 'mine-1']);
    const bad = await send(port, { headers: { 'X-Request-Id': 'a b' } });
    expect(bad.headers['x-request-id']).toMatch(/^[\w-]{3,64}$/);
    expect(asked.map(({ requestId }) => requestId)).toEqual(['mine-1', bad.headers['x-request-id']]);
  });
});

describe('an answer', () => {
  it('is passed on with status, headers and body, and with what admission adds', async () => {
    const { url } = await startUpstream((_request, response) => {
      response.writeHead(418, [
        'Set-Cookie',
        'a=1',
        'Set-Cookie',
        'b=2',
        'ratelimit',
        'theirs',
        'X-Request-Id',
        'theirs',
        'Keep-Alive',
        'timeout=1',
      ]);
      response.end('short and stout');
    });
    const responseHeaders = ['RateLimit', '"burst";r=9;t=1', 'RateLimit-Policy', '"burst";q=10'];
    const { port } = await startProxy(url, { admit: (_request, done) => done({ forward: true, responseHeaders }) });
    const answer = await send(port, { headers: { 'X-Request-Id': 'mine-1' } });
    expect(answer).toMatchObject({ status: 418, body: 'short and stout' });
    expect(answer.headers).toMatchObject({ 'set-cookie': ['a=1', 'b=2'], ratelimit: '"burst";r=9;t=1', 'x-request-id': 'mine-1' });
    expect(answer.rawHeaders.filter((name) => name.toLowerCase() === 'ratelimit')).toEqual(['RateLimit']);
  });

  it.each<[string, number, Record<string, string>, string | undefined]>([
    ['HEAD', 200, { 'Content-Length': '5' }, '5'],
    ['GET', 204, {}, undefined],
    ['GET', 304, { ETag: '"x"' }, undefined],
  ])('to %s with %i has no body', async (method, status, headers, length) => {
    const { url } = await startUpstream((_request, response) => response.writeHead(status, headers).end());
    const { port } = await startProxy(url);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let i = 0; i < 2; i++) {
      const answer = await send(port, { method, agent });
      expect(answer).toMatchObject({ status, body: '' });
      expect(answer.headers['content-length']).toBe(length);
      expect(answer.headers['transfer-encoding']).toBeUndefined();
    }
    agent.destroy();
  });

  it('comes behind its early hints, and without other interim answers', async () => {
    const { url } = await startUpstream((_request, response) => {
      response.writeProcessing();
      response.writeEarlyHints({ link: '</a.css>; rel=preload' });
      response.end('done');
    });
    const { port } = await startProxy(url);
    const client = (await RawClient.open(port)).write('GET / HTTP/1.1', 'Host: x', 'Connection: close', '', '');
    await client.closed;
    expect(client.statuses).toEqual([103, 200]);
    expect(client.received).toMatch(/^HTTP\/1\.1 103 Early Hints\r\nLink: <\/a\.css>; rel=preload\r\n\r\nHTTP\/1\.1 200 OK\r\n[^]*done/);
  });

  it('has of early hints the links and who may be asked, in any form, of the first eight, and none in HTTP/1.0', async () => {
    const hint =
      'HTTP/1.1 103 Early Hints\r\nlink: </a>; rel="preload"; as=style, <b>\r\nSet-Cookie: a=1\r\nContent-Length: 3\r\nRateLimit: x\r\n';
    const policy = "Content-Security-Policy: default-src 'self'\r\n\r\n";
    const none = 'HTTP/1.1 103 Early Hints\r\nX-A: 1\r\n\r\n';
    const { url } = await startTcpUpstream((socket) =>
      socket.on('data', () => socket.write(`${none}${(hint + policy).repeat(20)}HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone`)),
    );
    const { port } = await startProxy(url);
    const client = (await RawClient.open(port)).write('GET / HTTP/1.1', 'Host: x', 'Connection: close', '', '');
    await client.closed;
    expect(client.statuses).toEqual([...Array<number>(7).fill(103), 200]);
    expect(client.received).toMatch(
      /^HTTP\/1\.1 103 Early Hints\r\nlink: <\/a>; rel="preload"; as=style, <b>\r\nContent-Security-Policy: default-src 'self'\r\n\r\n/,
    );
    expect(client.received).not.toMatch(/Set-Cookie|RateLimit/);
    const old = (await RawClient.open(port)).write('GET / HTTP/1.0', 'Host: x', '', '');
    await old.closed;
    expect(old.received).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*done$/);
  });

  it('that says 100 to a request that did not ask for it is no answer', async () => {
    const { url } = await startTcpUpstream((socket) =>
      socket.on('data', () => socket.write('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone')),
    );
    expect((await send((await startProxy(url)).port)).status).toBe(502);
  });

  it.each([
    [
      'concerns nobody else goes on with it, a line for each value',
      'X-Sum: 1\r\nx-sum: 2\r\nGrpc-Status: 0\r\n',
      'X-Sum: 1\r\nx-sum: 2\r\nGrpc-Status: 0\r\n',
    ],
    [
      'routes, controls or authenticates does not',
      'Host: y\r\nAuthorization: x\r\nContent-Type: a\r\nLocation: /\r\nSet-Cookie: a=1\r\nCache-Control: public\r\n',
      '',
    ],
    ['the gateway sets goes no further', 'X-Request-Id: other\r\nRateLimit: "a";r=9\r\nRetry-After: 1\r\nX_Request_Id: other\r\n', ''],
    ['is of this hop goes no further', 'Connection: x\r\nTrailer: x\r\nUpgrade: h2c\r\nKeep-Alive: 1\r\nTE: gzip\r\n', ''],
  ])('with a trailer that %s', async (_case, sent, expected) => {
    const { url } = await startTcpUpstream((socket) =>
      socket.on('data', () => socket.write(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n${sent}\r\n`)),
    );
    const client = (await RawClient.open((await startProxy(url)).port)).write('GET / HTTP/1.1', 'Host: x', 'Connection: close', '', '');
    await client.closed;
    expect(client.received.slice(client.received.indexOf('\r\n\r\n') + 4)).toBe(`3\r\nabc\r\n0\r\n${expected}\r\n`);
  });

  it('has trailers if the client takes them: the upstream is told so', async () => {
    const seen: (string | undefined)[] = [];
    const { url } = await startUpstream((request, response) => {
      seen.push(request.headers.te as string | undefined);
      response.end();
    });
    const { port } = await startProxy(url);
    for (const TE of ['trailers', 'gzip;q=0.5, Trailers', 'gzip', 'x-trailers']) await send(port, { headers: { TE } });
    expect(seen).toEqual(['trailers', 'trailers', undefined, undefined]);
  });

  it('may be delimited by the end of the connection, or be chunked with trailers', async () => {
    const answers = [
      'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nto the end',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n',
    ];
    const { url } = await startTcpUpstream((socket) => socket.once('data', () => socket.end(answers.shift()!)));
    const { port } = await startProxy(url);
    expect((await send(port)).body).toBe('to the end');
    const chunked = await send(port);
    expect(chunked.body).toBe('abc');
    expect(chunked.headers.trailer).toBeUndefined();
  });

  it('shows its headers before its body is there', async () => {
    const { url } = await startUpstream((_request, response) =>
      response.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders(),
    );
    const { port } = await startProxy(url);
    const client = (await RawClient.open(port)).write('GET / HTTP/1.1', 'Host: x', '', '');
    expect(await client.until('\r\n\r\n')).toMatch(/text\/event-stream/);
  });

  it('to HTTP/1.0 is not chunked, and ends the connection', async () => {
    const { url } = await startUpstream((_request, response) => {
      response.write('a');
      response.end('b');
    });
    const { port } = await startProxy(url);
    const client = (await RawClient.open(port)).write('GET / HTTP/1.0', '', '');
    await client.closed;
    expect(client.received).toMatch(/\r\n\r\nab$/);
  });
});

describe('connections', () => {
  it('are kept alive on both sides', async () => {
    const upstream = await startUpstream((_request, response) => response.end('ok'));
    const { port } = await startProxy(upstream.url);
    const client = await RawClient.open(port);
    for (let i = 1; i <= 20; i++) {
      client.write('GET / HTTP/1.1', 'Host: x', '', '');
      await until(() => client.statuses.length === i && client.received.endsWith('ok'));
    }
    expect(upstream.connections.length).toBe(1);
  });

  it('carry pipelined requests, which are handled one after the other', async () => {
    let open = 0;
    let most = 0;
    const { url } = await startUpstream((request, response) => {
      most = Math.max(most, ++open);
      setTimeout(() => {
        open--;
        response.end(`<${request.url}>`);
      }, 10);
    });
    const { port } = await startProxy(url);
    const client = await RawClient.open(port);
    client.write(...Array.from({ length: 10 }, (_, i) => `GET /${i} HTTP/1.1\r\nHost: x\r\n\r\n`).map((text) => text.slice(0, -2)), '');
    await client.until('</9>');
    expect(client.received.match(/<\/\d>/g)).toEqual(Array.from({ length: 10 }, (_, i) => `</${i}>`));
    expect(most).toBe(1);
  });

  it('share the upstream: requests wait for a free connection, and too many are refused', async () => {
    const waiting: (() => void)[] = [];
    const upstream = await startUpstream((_request, response) => waiting.push(() => response.end('ok')));
    const { port, metrics } = await startProxy(upstream.url, {
      connections: 2,
      maxInFlight: 4,
      queueTimeoutMs: 60_000,
      merchantShare: 100,
    });
    const four = [1, 2, 3, 4].map(() => send(port));
    await until(() => metrics.inFlight === 4 && waiting.length === 2);
    const fifth = await send(port);
    expect(fifth.status).toBe(503);
    expect(fifth.headers).toMatchObject({ 'content-type': 'application/problem+json', 'retry-after': '1' });
    for (let done = 0; done < 4; done++) {
      await until(() => waiting.length > 0);
      waiting.shift()!();
    }
    expect((await Promise.all(four)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(upstream.connections.length).toBe(2);
    expect(metrics.inFlight).toBe(0);
  });
});

it('counts what it forwarded', async () => {
  const { url } = await startUpstream((_request: IncomingMessage, response) => response.writeHead(201).end());
  const { port, scrape } = await startProxy(url);
  await send(port);
  expect(await scrape()).toEqual(
    expect.arrayContaining([
      'tollgate_requests_total{outcome="forwarded",status_class="2xx"} 1',
      'tollgate_request_duration_seconds_count 1',
    ]),
  );
});

import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { request as httpRequest } from 'node:http';
import { until } from '../../support/until.js';
import { RawClient, type RunningProxy, send, startProxy, startTcpUpstream, startUpstream, stopAll } from './proxy-harness.js';

afterEach(stopAll);

const UNUSED_PORT = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  return port;
};

async function expectProblem(proxy: RunningProxy, status: number, kind: string): Promise<void> {
  const answer = await send(proxy.port, { headers: { 'X-Request-Id': 'mine-1' } });
  expect(answer.status).toBe(status);
  expect(answer.headers).toMatchObject({ 'content-type': 'application/problem+json', 'x-request-id': 'mine-1' });
  expect(JSON.parse(answer.body)).toMatchObject({
    type: expect.stringMatching(/\/problems\/(bad-gateway|gateway-timeout)$/),
    code: expect.stringMatching(/^upstream\./),
    status,
    requestId: 'mine-1',
  });
  const lines = await proxy.scrape();
  expect(lines).toContain(`tollgate_upstream_errors_total{kind="${kind}"} 1`);
  expect(lines).toContain('tollgate_requests_total{outcome="upstream_error",status_class="5xx"} 1');
  expect(proxy.log).toMatchObject([{ requestId: 'mine-1', kind }]);
  expect(proxy.metrics.inFlight).toBe(0);
}

describe('an upstream that', () => {
  it('is not there: 502', async () => {
    await expectProblem(await startProxy(new URL(`http://127.0.0.1:${await UNUSED_PORT()}`)), 502, 'connect');
  });

  it('cannot be found by name: 502', async () => {
    await expectProblem(await startProxy(new URL('http://nowhere.invalid')), 502, 'connect');
  });

  it('does not accept the connection in time: 504', async () => {
    // TEST-NET-1 leads nowhere; where the network says so at once, it is a 502.
    const proxy = await startProxy(new URL('http://192.0.2.1'), { connectTimeoutMs: 300 });
    const { status } = await send(proxy.port);
    expect([502, 504]).toContain(status);
  });

  it('does not answer in time: 504', async () => {
    const { url } = await startTcpUpstream(() => {});
    await expectProblem(await startProxy(url, { headersTimeoutMs: 300 }), 504, 'headers_timeout');
  });

  it('closes the connection instead of answering: 502', async () => {
    const { url } = await startTcpUpstream((socket) => socket.once('data', () => socket.end()));
    await expectProblem(await startProxy(url), 502, 'reset');
  });

  it.each([
    ['speaks no HTTP', 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['sends two framings', 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['sends headers without end', `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`],
  ])('%s: 502', async (_case, answer) => {
    const { url } = await startTcpUpstream((socket) => socket.once('data', () => socket.write(answer)));
    await expectProblem(await startProxy(url), 502, 'invalid_response');
  });

  it.each([
    ['breaks off in the middle of its answer', (socket: Socket) => socket.destroy()],
    ['stops in the middle of its answer', () => {}],
  ])('%s: the client sees a broken connection', async (_case, then) => {
    const { url, connections } = await startTcpUpstream((socket) => {
      socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf'));
    });
    const proxy = await startProxy(url, { bodyTimeoutMs: 300 });
    const client = (await RawClient.open(proxy.port)).write('GET / HTTP/1.1', 'Host: x', '', '');
    await client.until('half');
    then(connections[0]!);
    await client.closed;
    expect(client.received).toMatch(/\r\n\r\nhalf$/);
    expect(await proxy.scrape()).toContain('tollgate_requests_total{outcome="upstream_error",status_class="2xx"} 1');
  });

  it('breaks off a chunked answer: the client does not get the end of it', async () => {
    const { url, connections } = await startTcpUpstream((socket) => {
      socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n'));
    });
    const proxy = await startProxy(url);
    const client = (await RawClient.open(proxy.port)).write('GET / HTTP/1.1', 'Host: x', '', '');
    await client.until('half');
    connections[0]!.destroy();
    await client.closed;
    expect(client.received).not.toMatch(/\r\n0\r\n/);
  });

  it('fails during an upload: the client is told so', async () => {
    const { url } = await startTcpUpstream((socket) => socket.once('data', () => socket.destroy()));
    const proxy = await startProxy(url);
    const client = await RawClient.open(proxy.port);
    client.write('POST / HTTP/1.1', 'Host: x', 'Content-Length: 1000000', '', 'x'.repeat(70_000));
    expect(await client.until('requestId')).toMatch(/^HTTP\/1.1 502 .*Connection: close/s);
    await client.closed;
  });

  it('is back again is used again', async () => {
    let fail = true;
    const { url } = await startUpstream((_request, response) => (fail ? response.destroy() : response.end('ok')));
    const { port } = await startProxy(url);
    expect((await send(port)).status).toBe(502);
    fail = false;
    expect((await send(port)).status).toBe(200);
  });
});

describe('a client that goes away', () => {
  it('before the answer, ends the exchange with the upstream', async () => {
    let [upstreamReached, upstreamClosed] = [false, false];
    const { url } = await startUpstream((_request, response) => {
      upstreamReached = true;
      response.on('close', () => (upstreamClosed = true));
    });
    const proxy = await startProxy(url);
    const request = httpRequest({ host: '127.0.0.1', port: proxy.port, agent: false }).on('error', () => {});
    request.end();
    await until(() => upstreamReached);
    expect([proxy.asked.length, proxy.metrics.inFlight]).toEqual([1, 1]);
    request.destroy();
    await until(() => upstreamClosed);
    expect(await proxy.scrape()).toContain('tollgate_requests_total{outcome="client_closed",status_class="none"} 1');
    expect(proxy.log).toEqual([]);
    expect(proxy.metrics.inFlight).toBe(0);
  });

  it.each([100, 1_000_000])('in the middle of an upload of %i bytes, ends the exchange with the upstream', async (length) => {
    const upstreamEvents: string[] = [];
    const { url } = await startUpstream((request, response) => {
      upstreamEvents.push('request');
      request.resume().on('error', () => {});
      response.on('close', () => upstreamEvents.push('closed'));
    });
    const proxy = await startProxy(url);
    const client = await RawClient.open(proxy.port);
    client.write('POST / HTTP/1.1', 'Host: x', `Content-Length: ${length}`, '', 'x'.repeat(length > 100 ? 20_000 : 50));
    // A small body waits until it is whole before anything goes upstream; a large one is broken off there.
    await until(() => proxy.asked.length === 1 && (length === 100 || upstreamEvents.length === 1));
    client.socket.destroy();
    await until(() => proxy.metrics.inFlight === 0);
    if (length > 100) await until(() => upstreamEvents.length === 2);
    expect(upstreamEvents).toEqual(length > 100 ? ['request', 'closed'] : []);
  });

  it('in the middle of the answer, ends the exchange with the upstream', async () => {
    let upstreamClosed = false;
    const { url } = await startUpstream((_request, response) => {
      response.on('close', () => (upstreamClosed = true));
      response.write('half');
    });
    const proxy = await startProxy(url);
    const client = (await RawClient.open(proxy.port)).write('GET / HTTP/1.1', 'Host: x', '', '');
    await client.until('half');
    client.socket.destroy();
    await until(() => upstreamClosed);
    expect(await proxy.scrape()).toContain('tollgate_requests_total{outcome="client_closed",status_class="2xx"} 1');
  });

  it('before it was admitted, is not forwarded', async () => {
    let reached = 0;
    const { url } = await startUpstream((_request, response) => {
      reached++;
      response.end();
    });
    let admitIt = (): void => {};
    const proxy = await startProxy(url, { admit: (_request, done) => (admitIt = () => done({ forward: true, responseHeaders: [] })) });
    const client = (await RawClient.open(proxy.port)).write('GET / HTTP/1.1', 'Host: x', '', '');
    await until(() => proxy.asked.length === 1);
    client.socket.destroy();
    await until(() => proxy.metrics.inFlight === 0);
    admitIt();
    // Had the first one been forwarded, it would have reached the upstream before this one.
    const other = send(proxy.port);
    await until(() => proxy.asked.length === 2);
    admitIt();
    await other;
    expect(reached).toBe(1);
  });
});

it('an admission that throws is answered with 500, and logged', async () => {
  const { url } = await startUpstream((_request, response) => response.end());
  const proxy = await startProxy(url, {
    admit: () => {
      throw new Error('broken');
    },
  });
  const answer = await send(proxy.port);
  expect(answer.status).toBe(500);
  expect(answer.body).not.toMatch(/broken/);
  expect(proxy.log).toMatchObject([{ requestId: answer.headers['x-request-id'], err: { message: 'broken' } }]);
});

it('an admission that decides twice is heard once', async () => {
  const { url } = await startUpstream((_request, response) => response.end('ok'));
  const proxy = await startProxy(url, {
    admit: (_request, done) => {
      done({ forward: true, responseHeaders: [] });
      done({ forward: false, status: 429, headers: [], body: '{}' });
    },
  });
  expect((await send(proxy.port)).status).toBe(200);
  expect(proxy.metrics.inFlight).toBe(0);
});

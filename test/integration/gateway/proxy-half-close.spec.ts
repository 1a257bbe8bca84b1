import { until } from '../../support/until.js';
import { RawClient, send, startProxy, startUpstream, stopAll } from './proxy-harness.js';

afterEach(stopAll);

const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
const POST = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc';
const CHUNKED = 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n';
const HTTP_1_0 = 'GET / HTTP/1.0\r\n\r\n';

describe.each([
  ['at once', 0],
  ['after 50 ms', 50],
])('a client that closes its sending side behind its request, with an upstream that answers %s,', (_case, delayMs) => {
  it.each([
    ['GET', GET],
    ['POST with a length', POST],
    ['POST in chunks', CHUNKED],
    ['HTTP/1.0', HTTP_1_0],
  ])('is answered: %s, 20 of 20', async (_kind, request) => {
    const { url } = await startUpstream((incoming, response) => {
      incoming.resume().on('end', () => (delayMs === 0 ? response.end('ok') : setTimeout(() => response.end('ok'), delayMs)));
    });
    const { port, metrics } = await startProxy(url);
    const clients = await Promise.all(Array.from({ length: 20 }, () => RawClient.open(port)));
    for (const client of clients) client.socket.end(request, 'latin1');
    await Promise.all(clients.map(({ closed }) => closed));
    expect(clients.map(({ statuses }) => statuses)).toEqual(Array(20).fill([200]));
    for (const { received } of clients) expect(received).toMatch(/\r\nConnection: close\r\n[^]*ok/);
    expect(metrics.inFlight).toBe(0);
  });
});

// Found by the fuzzer (seed 912, case 84036), which took the two moments for a difference between the lanes.
it.each([
  ['the fast lane', true],
  ['the other lane', false],
])(
  'half a request is dropped if its client ends before the answer to the one in front, and refused behind that, on %s',
  async (_lane, fastLane) => {
    const answers: (() => void)[] = [];
    const { url } = await startUpstream((_request, response) => answers.push(() => response.end('ok')));
    const { port } = await startProxy(url, { fastLane });
    const HALF = 'OPTIONS /a HTTP/1.1\r\nHost: x\r\nContent-Length: 35';

    const sooner = await RawClient.open(port);
    sooner.socket.write(GET + HALF);
    sooner.socket.end();
    // The proxy asks such a client whether it is still there once it has seen its end.
    await sooner.until('HTTP/1.1 102 ');
    answers[0]!();
    await sooner.closed;
    expect(sooner.received).toMatch(/HTTP\/1\.1 200 OK\r\n[^]*\r\nConnection: close\r\n[^]*ok$/);

    const later = await RawClient.open(port);
    later.socket.write(GET + HALF);
    await until(() => expect(answers).toHaveLength(2));
    answers[1]!();
    await later.until(/ok$/);
    later.socket.end();
    await later.closed;
    expect(later.statuses).toEqual([200, 400]);
  },
);

it('a large answer reaches a client that has closed its sending side', async () => {
  const { url } = await startUpstream((_request, response) => response.end('x'.repeat(5_000_000)));
  const { port } = await startProxy(url);
  const client = await RawClient.open(port);
  client.socket.end(GET);
  await client.closed;
  expect(client.received.length).toBeGreaterThan(5_000_000);
});

it('all pipelined requests in front of the end are answered', async () => {
  const { url } = await startUpstream((request, response) => setTimeout(() => response.end(`<${request.url}>`), 5));
  const { port } = await startProxy(url);
  const client = await RawClient.open(port);
  client.socket.end(Array.from({ length: 20 }, (_, i) => `GET /${i} HTTP/1.1\r\nHost: x\r\n\r\n`).join(''));
  await client.closed;
  expect(client.received.match(/<\/\d+>/g)).toEqual(Array.from({ length: 20 }, (_, i) => `</${i}>`));
  expect(client.received.match(/\r\nConnection: close/g)?.length).toBe(1);
});

it.each([
  ['nothing was sent', ''],
  ['a request was answered', GET],
])('a connection that is half open and idle is closed when %s', async (_case, request) => {
  const { url } = await startUpstream((_request, response) => response.end('ok'));
  const { port } = await startProxy(url);
  const client = await RawClient.open(port);
  if (request !== '') {
    client.write(request);
    await client.until('ok');
  }
  client.socket.end();
  await client.closed;
});

it.each([
  ['headers', 'GET / HTTP/1.1\r\nHost: x\r\n', 0],
  ['a body', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nabc', 1],
])('a client that closes its sending side in the middle of %s gets 400, and its exchange ends', async (_case, request, asks) => {
  const { url } = await startUpstream((incoming, response) =>
    incoming
      .resume()
      .on('error', () => {})
      .on('end', () => response.end()),
  );
  const { port, metrics, asked } = await startProxy(url);
  const client = await RawClient.open(port);
  client.socket.end(request);
  await client.closed;
  expect(client.statuses).toEqual([400]);
  await until(() => metrics.inFlight === 0);
  expect(asked.length).toBe(asks);
});

describe('a client that is gone', () => {
  it('while the upstream works on its request, is noticed, and the upstream call is aborted', async () => {
    let aborted = 0;
    const { url } = await startUpstream((_request, response) => void response.on('close', () => aborted++));
    const { port, metrics } = await startProxy(url);
    const client = (await RawClient.open(port)).write(GET);
    await until(() => metrics.inFlight === 1);
    client.socket.destroy();
    await until(() => aborted === 1 && metrics.inFlight === 0);
  });

  it('is told apart from one that waits, which skips the interim answers', async () => {
    const { url } = await startUpstream((_request, response) => setTimeout(() => response.end('late'), 2_500));
    const { port } = await startProxy(url);
    const client = await RawClient.open(port);
    client.socket.end(GET);
    await client.closed;
    expect(client.statuses.at(-1)).toBe(200);
    expect(new Set(client.statuses.slice(0, -1))).toEqual(new Set([102]));
    expect(client.received).toMatch(/late$/);
  });

  it('a client that keeps its connection open gets no interim answers', async () => {
    const { url } = await startUpstream((_request, response) => setTimeout(() => response.end('late'), 1_500));
    const { port } = await startProxy(url);
    expect((await send(port)).body).toBe('late');
    const client = (await RawClient.open(port)).write(GET);
    await client.until('late');
    expect(client.statuses).toEqual([200]);
  });
});

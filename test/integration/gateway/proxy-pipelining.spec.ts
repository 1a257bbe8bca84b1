import { until } from '../../support/until.js';
import { FORWARD, RawClient, REFUSAL, send, settledValue, startProxy, startUpstream, stopAll } from './proxy-harness.js';

afterEach(stopAll);

const request = (i: number, more = ''): string => `GET /${i} HTTP/1.1\r\nHost: x\r\n${more}\r\n`;
const requests = (count: number, more = ''): string => Array.from({ length: count }, (_, i) => request(i, more)).join('');
const paths = (count: number): string[] => Array.from({ length: count }, (_, i) => `</${i}>`);
const answered = (client: RawClient): string[] => client.received.match(/<\/\d+>/g) ?? [];

/** An upstream that echoes the path. */
const echo = (delayMs = 0) =>
  startUpstream((incoming, response) => {
    const answer = () => response.end(`<${incoming.url}>`);
    incoming.resume().on('end', () => (delayMs === 0 ? answer() : setTimeout(answer, delayMs)));
  });

it.each([100, 1_000])('%i pipelined requests in one write are all answered, in order', async (count) => {
  const { port, metrics } = await startProxy((await echo()).url);
  const client = (await RawClient.open(port)).write(requests(count));
  await until(() => answered(client).length === count, 30_000);
  expect(answered(client)).toEqual(paths(count));
  expect(metrics.inFlight).toBe(0);
});

it('3,000 pipelined requests with bodies in many writes are all answered, in order', async () => {
  const { port } = await startProxy((await echo()).url);
  const client = await RawClient.open(port);
  for (let i = 0; i < 3_000; i++) client.write(`POST /${i} HTTP/1.1\r\nHost: x\r\nContent-Length: 200\r\n\r\n${'b'.repeat(200)}`);
  await until(() => answered(client).length === 3_000, 60_000);
  expect(answered(client)).toEqual(paths(3_000));
});

it('pipelined requests that are refused are answered in their turn as well', async () => {
  let asked = 0;
  const { port } = await startProxy((await echo()).url, { admit: (_request, done) => done(asked++ % 3 === 0 ? FORWARD : REFUSAL) });
  const client = (await RawClient.open(port)).write(requests(900));
  await until(() => client.statuses.length === 900, 30_000);
  expect(client.statuses).toEqual(Array.from({ length: 900 }, (_, i) => (i % 3 === 0 ? 200 : 429)));
});

it('a client that sends on and on is not read any further while it waits', async () => {
  const { port, asked } = await startProxy((await startUpstream(() => {})).url);
  const client = await RawClient.open(port);
  const MORE_THAN_KERNELS_HOLD = 32 * 1024 * 1024;
  const packet = requests(1_000, `X-Filler: ${'x'.repeat(200)}\r\n`);
  for (let sent = 0; sent < MORE_THAN_KERNELS_HOLD; sent += packet.length) client.write(packet);
  await until(() => asked.length === 1);
  expect(await settledValue(() => client.socket.writableLength)).toBeGreaterThan(0);
  expect(asked.length).toBe(1);
});

it('a request beyond those that a connection may have waiting gets 503 after the others were answered, and the connection is closed', async () => {
  let release = (): void => {};
  const { url } = await startUpstream((incoming, response) => {
    if (incoming.url === '/0') release = () => response.end('</0>');
    else response.end(`<${incoming.url}>`);
  });
  const { port, asked } = await startProxy(url);
  const client = (await RawClient.open(port)).write(requests(1_500));
  await until(() => asked.length === 1);
  // Whatever was sent before this was answered has been read by then.
  await send(port, { path: '/another' });
  release();
  await client.closed;
  const { statuses } = client;
  expect(statuses.at(-1)).toBe(503);
  expect(new Set(statuses.slice(0, -1))).toEqual(new Set([200]));
  expect(statuses.length).toBeGreaterThan(64);
  expect(answered(client)).toEqual(paths(statuses.length - 1));
  expect(client.received).toMatch(/\r\nConnection: close\r\n[^{]*\{[^}]*pipelined[^}]*\}$/);
});

it('all connections together may have as many waiting as the gateway may have requests in flight', async () => {
  const held: (() => void)[] = [];
  let released = false;
  const { url } = await startUpstream((_request, response) => void (released ? response.end('ok') : held.push(() => response.end('ok'))));
  const { port } = await startProxy(url, { maxInFlight: 10 });
  const clients = [await RawClient.open(port), await RawClient.open(port), await RawClient.open(port)];
  for (const [i, client] of clients.entries()) {
    client.write(requests(8));
    await until(() => held.length === i + 1);
  }
  released = true;
  for (const answer of held) answer();
  // 7 wait on the first, 3 on the second; whatever comes then is the last on its connection.
  await Promise.all([clients[1]!.closed, clients[2]!.closed, until(() => clients[0]!.statuses.length === 8)]);
  expect(clients.map(({ statuses }) => statuses)).toEqual([Array(8).fill(200), [200, 200, 200, 200, 503], [200, 503]]);
});

it('whole requests in front of a malformed one are answered, then the connection is closed', async () => {
  const { port } = await startProxy((await echo(5)).url);
  const client = (await RawClient.open(port)).write(`${requests(3)}GARBAGE!!\r\n\r\n`);
  await client.closed;
  expect(answered(client)).toEqual(paths(3));
  expect(client.received.match(/\r\nConnection: close/g)?.length).toBe(1);
});

it('answers that are ready are not lost when what follows them in the same packet is not HTTP/1.1', async () => {
  const { port } = await startProxy((await echo()).url, { admit: (_request, done) => done(REFUSAL) });
  const client = (await RawClient.open(port)).write(`${requests(5)}GET /late HTTP/2.0\r\n\r\n`);
  await client.closed;
  expect(client.statuses).toEqual([429, 429, 429, 429, 429, 505]);
});

it('a malformed body is answered with 400 in its turn', async () => {
  const { port } = await startProxy((await echo(5)).url);
  const client = await RawClient.open(port);
  client.write(`${requests(2)}POST /2 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nno number\r\n`);
  await client.closed;
  expect(client.statuses).toEqual([200, 200, 400]);
});

it('a request with Connection: close is the last to be answered, after those before it', async () => {
  const { port } = await startProxy((await echo(5)).url);
  const client = (await RawClient.open(port)).write(request(0) + request(1, 'Connection: close\r\n') + request(2));
  await client.closed;
  expect(answered(client)).toEqual(paths(2));
});

it.each(['close\t', 'x, close', ' Close , x'])('so is one with Connection: %j', async (value) => {
  const { port } = await startProxy((await echo(5)).url);
  const client = (await RawClient.open(port)).write(request(0) + request(1, `Connection: ${value}\r\n`) + request(2));
  await client.closed;
  expect(answered(client)).toEqual(paths(2));
});

it('a request behind one that is refused before it was asked for its body is not begun: the connection ends with that answer', async () => {
  const upstream = await echo();
  const { port, asked } = await startProxy(upstream.url, {
    // Its body is there by then, unasked.
    admit: (request, done) => void setTimeout(() => done(request.target === '/expecting' ? REFUSAL : FORWARD), 20),
  });
  const expecting = 'POST /expecting HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc';
  const client = (await RawClient.open(port)).write(request(0) + expecting + request(2));
  await client.closed;
  expect(client.statuses).toEqual([200, 429]);
  expect(asked.map(({ target }) => target)).toEqual(['/0', '/expecting']);
});

it('while the gateway drains, all that was sent is answered, and the last answer says that the connection closes', async () => {
  const { port, server } = await startProxy((await echo(5)).url);
  const client = (await RawClient.open(port)).write(requests(20));
  await client.until('</0>');
  await server.close(10_000);
  await client.closed;
  expect(answered(client)).toEqual(paths(20));
  expect(client.received.match(/\r\nConnection: close/g)?.length).toBe(1);
});

import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import type { ProxyOptions } from '../../../apps/gateway/src/proxy/index.js';
import { Flag, frame, FrameType, headerBlock } from '../../support/http2-frames.js';
import { until } from '../../support/until.js';
import { FORWARD, startUpstream, stopAll } from './proxy-harness.js';
import { answerOf, closeClients, FrameClient, openHttp2, startTlsProxy } from './tls-harness.js';

/** How requests and connections of HTTP/2 end where node says less than of HTTP/1.1. What is here was found by fuzzing. */

afterEach(async () => {
  closeClients();
  await stopAll();
});

async function start(options: Partial<ProxyOptions> = {}) {
  const bodies: string[] = [];
  const { url } = await startUpstream((request, response) => {
    let body = '';
    request.setEncoding('latin1').on('data', (text) => (body += String(text)));
    request.on('end', () => {
      bodies.push(body);
      if (request.url !== '/held') response.end('ok');
    });
  });
  return { bodies, ...(await startTlsProxy(url, {}, options)) };
}

const request = (path: string, flags: number): Buffer =>
  frame(
    FrameType.headers,
    flags,
    1,
    headerBlock([
      [':method', 'POST'],
      [':scheme', 'https'],
      [':path', path],
      [':authority', 'x'],
    ]),
  );
const WHOLE = Flag.endHeaders | Flag.endStream;

test('a body that turns out to be empty is known to have ended, however late the decision comes', async () => {
  const { port, bodies } = await start({
    admit: (_request, done) =>
      void turn()
        .then(turn)
        .then(() => done(FORWARD)),
  });
  const stream = (await openHttp2(port)).request({ ':method': 'POST', ':path': '/' });
  stream.end();
  expect(await answerOf(stream)).toMatchObject({ status: 200, body: 'ok' });
  expect(bodies).toEqual(['']);
});

test('a body that ends while its request waits for the upstream is sent on whole', async () => {
  const { port, bodies, server } = await start({ connections: 1 });
  const session = await openHttp2(port);
  const held = session.request({ ':path': '/held' });
  held.on('error', () => {});
  await until(() => bodies.length === 1);
  // More than is collected before a request asks for its connection.
  const stream = session.request({ ':method': 'POST', ':path': '/' });
  stream.end(Buffer.alloc(20_000, 'b'));
  await once(stream, 'finish');
  await turn();
  held.close();
  expect(await answerOf(stream)).toMatchObject({ status: 200, body: 'ok' });
  expect(bodies[1]).toBe('b'.repeat(20_000));
  expect(server).toBeDefined();
});

test('a connection that has failed is ended, with all that is under way on it', async () => {
  const { port, bodies, metrics } = await start({ http2PingAfterMs: 100, http2PingTimeoutMs: 100 });
  const client = await FrameClient.open(port);
  client.write(request('/held', WHOLE));
  await until(() => bodies.length === 1);
  // A header of which HPACK knows nothing: nghttp2 says so, and reads no further.
  client.write(frame(FrameType.headers, WHOLE, 3, Buffer.from([0xff, 0x7f])));
  await until('the connection is closed', () => client.closed);
  expect(client.codes(FrameType.goaway)).toEqual([9]);
  await until(() => metrics.inFlight === 0);
});

test('a client that answers is asked once, and keeps its connection', async () => {
  const { port } = await start({ http2PingAfterMs: 100, http2PingTimeoutMs: 100 });
  const client = await FrameClient.open(port);
  const pings = () => client.frames.filter(({ type, flags }) => type === FrameType.ping && flags === 0);
  await until(() => pings().length === 1);
  client.write(frame(FrameType.ping, Flag.ack, 0, pings()[0]!.payload));
  client.write(request('/', WHOLE));
  await until(() => client.frames.some(({ type, flags }) => type === FrameType.data && (flags & Flag.endStream) !== 0));
  expect(client.closed).toBe(false);
});

test.each([
  ['nothing is asked', 0],
  ['a request is not whole', Flag.endHeaders],
])('a client that closes its side gets its connection closed when %s', async (_what, flags) => {
  const { port, asked, metrics } = await start();
  const client = await FrameClient.open(port);
  if (flags !== 0) {
    client.write(request('/', flags));
    await until(() => asked.length === 1);
  }
  client.socket.end();
  await until('the connection is closed', () => client.closed);
  await until(() => metrics.inFlight === 0);
});

test('a client that closes its side gets the answers to what it has asked', async () => {
  const { port } = await start();
  const client = await FrameClient.open(port);
  client.write(request('/', WHOLE)).socket.end();
  await until('the connection is closed', () => client.closed);
  expect(client.frames.filter(({ type }) => type === FrameType.data).map(({ payload }) => payload.toString())).toEqual(['ok']);
});

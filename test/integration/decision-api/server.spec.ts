/** The data plane of the decision API on real sockets, with calls of the tests' own behind it. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Callers } from '../../../apps/decision-api/src/callers/callers.js';
import { jsonAnswer } from '../../../apps/decision-api/src/http/answer.js';
import type { Call } from '../../../apps/decision-api/src/http/call.js';
import { CallCounts } from '../../../apps/decision-api/src/http/call-counts.js';
import { DecisionServer } from '../../../apps/decision-api/src/http/decision-server.js';
import { until } from '../../support/until.js';

/** Calls that wait until a test lets them go. */
const held: ((call?: unknown) => void)[] = [];
const left: AbortSignal[] = [];
const errors: string[] = [];
const counts = new CallCounts();
const servers: DecisionServer[] = [];
const sockets: Socket[] = [];

async function opened(
  options: { maxInFlight?: number; maxBufferedBytes?: number } = {},
): Promise<{ server: DecisionServer; port: number }> {
  const server = new DecisionServer({
    routes: {
      '/echo': { method: 'POST', handle: async (call: Call) => jsonAnswer(await call.body(1_000)) },
      '/hold': {
        handle: async (call) => {
          left.push(call.left);
          await new Promise((resolve) => held.push(resolve));
          return jsonAnswer({ held: true });
        },
      },
      '/broken': { handle: () => Promise.reject(new Error('a secret of ours')) },
    },
    callers: new Callers([]),
    counts,
    logger: { error: (...said: unknown[]) => void errors.push(String(said.at(-1))) } as never,
    maxInFlight: 100,
    maxConnections: 100,
    maxBufferedBytes: 1_000_000,
    headersTimeoutMs: 10_000,
    requestTimeoutMs: 20_000,
    longestAnswerMs: 30_000,
    ...options,
  });
  servers.push(server);
  return { server, port: await server.listen(0, '127.0.0.1') };
}

afterEach(async () => {
  for (const resolve of held.splice(0)) resolve();
  for (const socket of sockets.splice(0)) socket.destroy();
  await Promise.all(servers.splice(0).map((server) => server.close(100)));
  left.length = errors.length = 0;
});

/** What comes on a connection. */
async function speaking(port: number): Promise<{ socket: Socket; text: () => string }> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  sockets.push(socket);
  let text = '';
  socket.on('data', (chunk) => (text += chunk.toString('latin1'))).on('error', () => {});
  await once(socket, 'connect');
  return { socket, text: () => text };
}

const post = (body: string, path = '/echo') =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
const GET_HELD = 'GET /hold HTTP/1.1\r\nHost: x\r\n\r\n';

test('calls of one connection are answered in order, whatever stands in them', async () => {
  const { port } = await opened();
  const { socket, text } = await speaking(port);
  socket.write(
    post('{"a":"é"}') +
      post('{') +
      post('{"b":2}') +
      post('{}', '/nowhere') +
      'GET /echo HTTP/1.1\r\nHost: x\r\n\r\n' +
      post('{}', '/broken'),
  );
  await until(() => text().split('HTTP/1.1 ').length === 7);
  expect([...text().matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual(['200', '400', '200', '404', '405', '500']);
  expect(Buffer.from(text(), 'latin1').toString()).toContain('{"a":"é"}');
  expect(text()).not.toContain('secret');
  expect(errors).toEqual(['a call failed']);
});

test('a caller that has closed its sending side is answered, and told from one that is there', async () => {
  const { port } = await opened();
  const { socket, text } = await speaking(port);
  socket.write(GET_HELD);
  await until(() => held.length === 1);
  expect(left[0]!.aborted).toBe(false);
  socket.end();
  await until(() => left[0]!.aborted);
  held.shift()!();
  await once(socket, 'end');
  expect(text()).toContain('{"held":true}');
});

test('a body that is too large is answered as such, and its connection goes on', async () => {
  const { port } = await opened();
  const { socket, text } = await speaking(port);
  socket.write(post(JSON.stringify({ pad: 'x'.repeat(100_000) })) + post('{"after":1}'));
  await until(() => text().includes('{"after":1}'));
  expect(text()).toMatch(/^HTTP\/1\.1 413 [\s\S]*body\.too_large/);
});

test('bytes of bodies are bounded for all calls together, and given back by callers that leave', async () => {
  const { port } = await opened({ maxBufferedBytes: 500 });
  const first = await speaking(port);
  first.socket.write(post(JSON.stringify({ pad: 'x'.repeat(400) })).slice(0, -1));
  const other = async (): Promise<string> => {
    const { socket, text } = await speaking(port);
    socket.write(post(JSON.stringify({ pad: 'y'.repeat(200) })));
    await until(() => text().includes('}'));
    return text();
  };
  await until(async () => (await other()).includes('decision_api.too_many_bodies'));
  first.socket.destroy();
  await until(async () => (await other()).startsWith('HTTP/1.1 200'));
});

test('one call more than may be under way is refused, and the others are answered', async () => {
  const { port } = await opened({ maxInFlight: 2 });
  const some = await Promise.all([speaking(port), speaking(port)]);
  for (const { socket } of some) socket.write(GET_HELD);
  await until(() => held.length === 2);
  const { socket, text } = await speaking(port);
  socket.write(GET_HELD);
  await until(() => text().includes('decision_api.too_many_calls'));
  expect(text()).toMatch(/^HTTP\/1\.1 503 [\s\S]*\r\nretry-after: 1\r\n/i);
  for (const resolve of held.splice(0)) resolve();
  for (const each of some) await until(() => each.text().includes('{"held":true}'));
});

test('at its end a server answers what is under way, tells its callers, and closes what is quiet', async () => {
  const { server, port } = await opened();
  const [busy, quiet] = await Promise.all([speaking(port), speaking(port)]);
  busy.socket.write(GET_HELD);
  quiet.socket.write(post('{}'));
  await until(() => held.length === 1 && quiet.text() !== '');
  const closed = server.close(60_000);
  await once(quiet.socket, 'end');
  quiet.socket.end();
  expect(busy.text()).toBe('');
  held.shift()!();
  await once(busy.socket, 'end');
  busy.socket.end();
  expect(busy.text()).toMatch(/\r\nConnection: close\r\n[\s\S]*\{"held":true\}/);
  await closed;
});

test.each([
  ['something that is no HTTP', '\u0016\u0003\u0001', '400'],
  ['headers that are too large', `GET / HTTP/1.1\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`, '431'],
  ['a length that is none', 'POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n', '400'],
])('%s is refused, and its connection ends', async (_what, bytes, status) => {
  const { port } = await opened();
  const { socket, text } = await speaking(port);
  socket.write(bytes);
  await once(socket, 'end');
  expect(text()).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
});

/** The data plane of the decision API on real sockets, with calls of the tests' own behind it. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Callers } from '../../../apps/decision-api/src/callers/callers.js';
import { jsonAnswer } from '../../../apps/decision-api/src/http/answer.js';
import type { Call } from '../../../apps/decision-api/src/http/call.js';
import { CallCounts } from '../../../apps/decision-api/src/http/call-counts.js';
import { jsonObject } from '../../../apps/decision-api/src/http/request-body.js';
import { DecisionServer } from '../../../apps/decision-api/src/http/decision-server.js';
import { until } from '../../support/until.js';

/** Calls that wait until a test lets them go. */
const held: ((call?: unknown) => void)[] = [];
const left: AbortSignal[] = [];
const errors: string[] = [];
const counts = new CallCounts();
/** Bodies that came by plain requests. */
const plainly: object[] = [];
/** More than the sockets of both sides hold back. */
const LARGE = 32 * 1024 * 1024;
const plainAnswer = (value: object) =>
  jsonAnswer('large' in value ? 'x'.repeat(LARGE) : value, 200, 'refused' in value ? ['Retry-After', '1'] : []);
const servers: DecisionServer[] = [];
const sockets: Socket[] = [];

async function opened(
  options: { maxInFlight?: number; maxBufferedBytes?: number; headersTimeoutMs?: number } = {},
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
      '/plain': {
        method: 'POST',
        handle: async (call: Call) => plainAnswer(await call.body(1_000)),
        plain: {
          mostBytes: 1_000,
          handle: (body, _call, answered) => {
            const object = jsonObject(body);
            plainly.push(object);
            if (object['broken'] === true) throw new Error('a secret of ours');
            const answer = (): void => answered(object['fails'] === true ? new Error('a secret of ours') : plainAnswer(object));
            if (object['held'] === true) held.push(answer);
            else answer();
          },
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
  left.length = errors.length = plainly.length = 0;
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
  ['a version of HTTP that is none of HTTP/1', 'GET /echo HTTP/2.0\r\nHost: x\r\n\r\n', '505'],
  ['a length that is none', 'POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n', '400'],
])('%s is refused, and its connection ends', async (_what, bytes, status) => {
  const { port } = await opened();
  const { socket, text } = await speaking(port);
  socket.write(bytes);
  await once(socket, 'end');
  expect(text()).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
});

describe('a plain request', () => {
  /** Without what differs from answer to answer. */
  const bare = (answer: string) => answer.replace(/Date: [^\r]+/, 'Date: now').replace(/X-Request-Id: [^\r]+/, 'X-Request-Id: r');

  test.each([
    ['an object', Buffer.from('{"a":"é €"}'), 1],
    ['one with more headers', '{"refused":1}', 1],
    ['no JSON', '{', 0],
    ['no object', '[]', 0],
    ['no UTF-8', Buffer.from([0x22, 0xe9, 0x22]), 0],
    ['lists that are nested too deeply', '['.repeat(40), 0],
    ['objects that are nested too deeply', '{"a":'.repeat(40), 0],
  ])('that brings %s is answered as node:http answers it, byte by byte', async (_what, body, understood) => {
    const { port } = await opened();
    const [plain, other] = await Promise.all([speaking(port), speaking(port)]);
    const bytes = Buffer.from(body);
    const head = post('x'.repeat(bytes.length), '/plain').slice(0, -bytes.length);
    plain.socket.write(Buffer.concat([Buffer.from(head), bytes]));
    // What is said of trailers is left to node.
    other.socket.write(Buffer.concat([Buffer.from(head.replace('\r\n', '\r\nTrailer: x\r\n')), bytes]));
    await until(() => plain.text() !== '' && other.text() !== '');
    const ids = /,?"requestId":"[^"]+"/;
    expect(bare(plain.text()).replace(ids, '')).toBe(bare(other.text()).replace(ids, ''));
    expect(plainly).toHaveLength(understood);
  });

  test('and whatever comes behind it on the same connection are answered in order', async () => {
    const { port } = await opened();
    const { socket, text } = await speaking(port);
    socket.write(post('{"held":true,"n":1}', '/plain'));
    await until(() => held.length === 1);
    // Meanwhile: one that is plain, one by chunks, and one of another path.
    socket.write(post('{"n":2}', '/plain'));
    socket.write(
      'POST /plain HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n{"n":3}\r\n0\r\n\r\n',
    );
    socket.end(post('{"n":4}', '/echo'));
    await until(() => socket.writableFinished);
    expect(text()).toBe('');
    held.shift()!();
    await once(socket, 'end');
    expect([...text().matchAll(/"n":(\d)/g)].map(([, n]) => n)).toEqual(['1', '2', '3', '4']);
  });

  test('whose body is sent behind its head is answered like any other', async () => {
    const { port } = await opened();
    const { socket, text } = await speaking(port);
    for (const n of [1, 2]) {
      const request = post(`{"n":${n}}`, '/plain');
      const at = request.indexOf('\r\n\r\n') + 4;
      await new Promise((resolve) => void socket.write(request.slice(0, at), resolve));
      socket.write(request.slice(at));
      await until(() => text().includes(`{"n":${n}}`));
    }
    expect(plainly).toEqual([{ n: 1 }, { n: 2 }]);
  });

  test.each([
    ['never comes', false, 408],
    ['ends with its connection', true, 400],
  ])('whose body %s is answered with an error', async (_what, ends, status) => {
    const { port } = await opened({ headersTimeoutMs: ends ? 10_000 : 50 });
    const { socket, text } = await speaking(port);
    const head = post('{"n":1}', '/plain').slice(0, -7);
    if (ends) socket.end(head);
    else socket.write(head);
    await once(socket, 'end');
    expect(text()).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(plainly).toEqual([]);
  });

  test('of a caller that has closed its sending side is answered, and the connection ends', async () => {
    const { port } = await opened();
    const { socket, text } = await speaking(port);
    socket.end(post('{"n":1}', '/plain'));
    await once(socket, 'end');
    expect(text()).toContain('{"n":1}');
    expect(plainly).toHaveLength(1);
  });

  test('that fails is answered as a failure of ours, and the connection goes on', async () => {
    const { port } = await opened();
    const { socket, text } = await speaking(port);
    for (const [i, body] of ['{"broken":true}', '{"fails":true}', '{"n":1}'].entries()) {
      socket.write(post(body, '/plain'));
      await until(() => text().split('HTTP/1.1 ').length === i + 2);
    }
    expect([...text().matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual(['500', '500', '200']);
    expect(text()).not.toContain('secret');
    expect(errors).toEqual(['a call failed', 'a call failed']);
  });

  test('is bounded as all calls are: in number, in bytes, and in size', async () => {
    const { port } = await opened({ maxInFlight: 1, maxBufferedBytes: 100 });
    const [busy, other] = await Promise.all([speaking(port), speaking(port)]);
    busy.socket.write(post('{"held":true}', '/plain'));
    await until(() => held.length === 1);
    other.socket.write(post('{}', '/plain'));
    await until(() => other.text().includes('decision_api.too_many_calls'));
    held.shift()!();
    await until(() => busy.text() !== '');
    busy.socket.write(post(JSON.stringify({ pad: 'x'.repeat(200) }), '/plain'));
    await until(() => busy.text().includes('decision_api.too_many_bodies'));
    other.socket.write(post(JSON.stringify({ pad: 'x'.repeat(2_000) }), '/plain'));
    await until(() => other.text().includes('body.too_large'));
  });

  test('under way at the end of a server is answered, and its connection closes', async () => {
    const { server, port } = await opened();
    const { socket, text } = await speaking(port);
    socket.write(post('{"held":true}', '/plain'));
    await until(() => held.length === 1);
    const closed = server.close(60_000);
    held.shift()!();
    await once(socket, 'end');
    socket.end();
    expect(text()).toMatch(/\r\nConnection: close\r\n[\s\S]*\{"held":true\}/);
    await closed;
  });

  test('that never comes is not waited for', async () => {
    const { port } = await opened({ headersTimeoutMs: 50 });
    const { socket, text } = await speaking(port);
    await once(socket, 'end');
    expect(text()).toMatch(/^HTTP\/1\.1 408 /);
  });

  test('of a caller that reads no answers is the last that is read', async () => {
    const { port } = await opened();
    const [silent, other] = await Promise.all([speaking(port), speaking(port)]);
    silent.socket.pause();
    silent.socket.write(post('{"large":true}', '/plain'));
    await until(() => plainly.length === 1);
    silent.socket.write(post('{"n":2}', '/plain'));
    for (const n of [3, 4, 5]) {
      other.socket.write(post(`{"n":${n}}`, '/plain'));
      await until(() => other.text().includes(`{"n":${n}}`));
    }
    expect(plainly.slice(1)).toEqual([{ n: 3 }, { n: 4 }, { n: 5 }]);
    silent.socket.resume();
    await until(() => silent.text().endsWith('{"n":2}'));
  });
});

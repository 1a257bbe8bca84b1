import { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { CallerConnection } from './caller-connection.js';
import { PlainConnection } from './plain-connection.js';

const HEAD = 'POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n';

/** A connection, and what became of what came on it. */
function bed() {
  const socket = new Socket();
  const seen: string[] = [];
  new PlainConnection(socket, {
    serve: (_head, body) => (seen.push(`served ${body.toString()}`), true),
    handOver: (to) => void seen.push(`node has ${String(to.read()).length} bytes`),
    late: () => void seen.push('late'),
    broken: () => void seen.push('broken'),
    firstRequestMs: 1_000,
    keepAliveMs: 5_000,
  });
  const come = (text: string): void => void socket.emit('data', Buffer.from(text));
  return { socket, seen, come };
}

test('a body that comes behind its head is served with it', () => {
  const { come, seen, socket } = bed();
  come(HEAD);
  expect([seen, socket.timeout]).toEqual([[], 1_000]);
  come('{"n":1}');
  expect([seen, socket.timeout]).toEqual([['served {"n":1}'], 5_000]);
  socket.destroy();
});

test.each([
  ['has the end of its body in a third piece', [HEAD, '{\"n']],
  ['brings the beginning of the next request', [HEAD, '{"n":1}POST']],
  ['begins with a part of its body', [`${HEAD}{`]],
])('a request that %s is left to node, whole', (_what, pieces) => {
  const { come, seen, socket } = bed();
  for (const piece of pieces) come(piece);
  expect(seen).toEqual([`node has ${pieces.join('').length} bytes`]);
  socket.destroy();
});

test('half a request is late, or broken, and not passed over', async () => {
  const { come, seen, socket } = bed();
  come(HEAD);
  socket.emit('timeout');
  await turn();
  socket.emit('end');
  expect(seen).toEqual(['late', 'broken']);
  socket.destroy();
});

test('what is read right after a time-out is served: it came while the process did not run', async () => {
  const { come, seen, socket } = bed();
  come(HEAD);
  socket.emit('timeout');
  Object.defineProperty(socket, 'bytesRead', { value: 7 });
  come('{"n":1}');
  await turn();
  expect(seen).toEqual(['served {"n":1}']);
  socket.destroy();
});

test('answers of all connections are written at the end of the turn, and a connection that is closed meanwhile quietly has its answer', async () => {
  const written: string[] = [];
  const plain: PlainConnection[] = [];
  const answering = ['one', 'other'].map((name) => {
    const socket = new Socket();
    socket.write = (text: unknown) => (written.push(`${name} ${String(text)}`), true);
    socket.destroySoon = () => void written.push(`${name} closed`);
    new PlainConnection(socket, {
      serve: (_head, _body, connection) => (plain.push(connection), true),
      handOver: () => {},
      late: () => {},
      broken: () => {},
      firstRequestMs: 1_000,
      keepAliveMs: 5_000,
    });
    socket.emit('data', Buffer.from(`${HEAD}{"n":1}`));
    return socket;
  });
  plain.forEach((connection) => connection.answered('answer', 'latin1', false));
  new CallerConnection(answering[0]!, '127.0.0.1').closeQuietly();
  expect(written).toEqual([]);
  await turn();
  expect(written).toEqual(['one answer', 'other answer', 'one closed']);
  for (const socket of answering) socket.destroy();
});

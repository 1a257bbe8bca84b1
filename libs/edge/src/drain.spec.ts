import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { once } from 'node:events';
import { Drain } from './drain.js';

const CLIENTS = 200;

test('connections that are made and not accepted yet when a server begins to close are served', async () => {
  const server = createServer((socket) => socket.once('data', () => socket.end('ok')));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  let accepted = 0;
  server.on('connection', () => accepted++);

  const connected: Promise<unknown>[] = [];
  const ask = (): Promise<string> =>
    new Promise((resolve) => {
      const socket: Socket = connect(port, '127.0.0.1', () => socket.write('x'));
      connected.push(once(socket, 'connect'));
      socket.on('data', (text) => resolve(String(text)));
      socket.on('error', (error) => resolve(String(error)));
      socket.on('close', () => resolve('closed without an answer'));
    });
  const answers = Array.from({ length: CLIENTS }, ask);
  await Promise.all(connected);
  // Node accepts one a turn.
  expect(accepted).toBeLessThan(CLIENTS);

  const drain = new Drain(new Set());
  await drain.closeServer(server, 60_000);
  drain.end();
  const counts = new Map<string, number>();
  for (const answer of await Promise.all(answers)) counts.set(answer, (counts.get(answer) ?? 0) + 1);
  expect([...counts]).toEqual([['ok', CLIENTS]]);
});

import { createServer, type AddressInfo } from 'node:net';
import { createLogger, type Config } from '#platform';
import { connectRedis } from './redis-connections.js';

test('a failed login is logged once, by its code and without the password', async () => {
  let logins = 0;
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', () => {
      logins++;
      socket.write('-WRONGPASS invalid username-password pair or user is disabled.\r\n'.repeat(8));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `redis://tollgate:hunter2@127.0.0.1:${(server.address() as AddressInfo).port}`;
  const lines: string[] = [];
  const logger = createLogger('preloader', 'info', { write: (line) => void lines.push(line) });
  const connections = connectRedis({ redisUrl: url, queueRedisUrl: url } as Config<'preloader'>, logger);
  try {
    // Each of the three tries again.
    for (const end = Date.now() + 20_000; logins < 9 && Date.now() < end; ) await new Promise((resolve) => setTimeout(resolve, 10));
  } finally {
    connections.close();
    server.close();
  }
  expect(lines.filter((line) => line.includes('WRONGPASS'))).toHaveLength(3);
  expect(lines.join('')).not.toContain('hunter2');
});

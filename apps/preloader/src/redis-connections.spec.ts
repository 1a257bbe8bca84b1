import { createServer, type AddressInfo } from 'node:net';
import { createLogger, type Config } from '#platform';
import { connectRedis } from './redis-connections.js';

test('a failed login is logged once, by its code and without the password', async () => {
  let commands = 0;
  let onEnough: () => void = () => {};
  // Each of the three connections fails and tries again.
  const enough = new Promise<void>((resolve) => (onEnough = resolve));
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      const arrived = bytes.toString().match(/^\*\d/gm)?.length ?? 0;
      socket.write('-WRONGPASS invalid username-password pair or user is disabled.\r\n'.repeat(arrived));
      commands += arrived;
      if (commands > 40) onEnough();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `redis://tollgate:hunter2@127.0.0.1:${(server.address() as AddressInfo).port}`;
  const lines: string[] = [];
  const logger = createLogger('preloader', 'info', { write: (line) => void lines.push(line) });
  const connections = connectRedis({ redisUrl: url, queueRedisUrl: url } as Config<'preloader'>, logger);
  try {
    await enough;
  } finally {
    connections.close();
    server.close();
  }
  expect(lines.filter((line) => line.includes('WRONGPASS'))).toEqual([
    expect.stringContaining('"code":"WRONGPASS"'),
    expect.stringContaining('"code":"WRONGPASS"'),
    expect.stringContaining('"code":"WRONGPASS"'),
  ]);
  expect(lines.join('')).not.toContain('hunter2');
});

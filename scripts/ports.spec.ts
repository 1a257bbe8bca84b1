import { createServer } from 'node:net';
import { freePort, listenerOn, portFault } from './ports.mjs';

describe('ports', () => {
  it.each(['127.0.0.1', '0.0.0.0', '::'])('one that somebody listens on at %s is taken, and Linux tells by whom', async (host) => {
    const port = await freePort();
    await expect(portFault(port)).resolves.toBeUndefined();
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(port, host, resolve));
    await expect(portFault(port)).resolves.toBe('EADDRINUSE');
    if (process.platform === 'linux') expect(listenerOn(port)?.pid).toBe(process.pid);
    await new Promise((resolve) => server.close(resolve));
    expect(listenerOn(port)).toBeUndefined();
  });

  it('are free ones each time another, and none that the system hands out by itself', async () => {
    const server = createServer();
    const taken = await freePort();
    await new Promise<void>((resolve) => server.listen(taken, '127.0.0.1', resolve));
    const ports = await Promise.all(Array.from({ length: 20 }, () => freePort()));
    await new Promise((resolve) => server.close(resolve));
    expect(new Set([taken, ...ports]).size).toBe(21);
    // Where Linux begins by default; macOS begins higher.
    expect(Math.max(...ports)).toBeLessThan(32_768);
  });
});

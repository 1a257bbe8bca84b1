import type { Redis } from 'ioredis';

type Socket = Redis['stream'];

/**
 * Hears every error of a connection's sockets. The client library listens for one error of each; a socket with TLS that is closed within its handshake tells
 * of two, that the certificate is not believed and that the server did not understand the end, and an error that nobody hears ends the process.
 *
 * The library has no event for a new socket, so it is noticed when it is kept.
 */
export function hearSocketErrors(redis: Pick<Redis, 'stream'>): void {
  let current: Socket | undefined;
  const keep = (socket: Socket | undefined): void => {
    current = socket;
    // The first one is told by the library.
    socket?.on('error', () => {});
  };
  keep(redis.stream);
  Object.defineProperty(redis, 'stream', {
    configurable: true,
    enumerable: true,
    get: () => current,
    set: keep,
  });
}

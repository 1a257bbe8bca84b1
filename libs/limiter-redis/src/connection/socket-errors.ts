import { Redis } from 'ioredis';

type Socket = Redis['stream'];

const SOCKET = Symbol('socket');

/** A connection with the property in which this keeps its socket. */
type WithSocket = Redis & { [SOCKET]?: Socket };

/**
 * Hears every error of the sockets of all connections, also of those that the client library opens by itself: to Sentinels, to ask a cluster where its slots are, and to hear
 * its messages. The library listens for one error of each; a socket with TLS that is closed within its handshake tells of two, that the certificate is not believed and that
 * the server did not understand the end, and an error that nobody hears ends the process.
 *
 * The library has no event for a new socket, so it is noticed when it is kept.
 */
export function hearSocketErrors(): void {
  if (Object.hasOwn(Redis.prototype, 'stream')) return;
  Object.defineProperty(Redis.prototype, 'stream', {
    configurable: true,
    enumerable: true,
    get(this: WithSocket) {
      return this[SOCKET];
    },
    set(this: WithSocket, socket: Socket) {
      this[SOCKET] = socket;
      // The first one is told by the library.
      socket.on('error', () => {});
    },
  });
}

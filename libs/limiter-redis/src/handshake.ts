import type { Redis } from 'ioredis';

/** For what ioredis asks before a connection is ready: login, name, INFO. */
const HANDSHAKE_DEADLINE_MS = 1000;

/**
 * Replaces a connection that was accepted and then not answered, as a way does that has lost the server behind it. ioredis' own
 * connectTimeout ends when the connection is accepted.
 */
export function watchHandshake(redis: Pick<Redis, 'status' | 'stream' | 'on'>): void {
  let timer: NodeJS.Timeout | undefined;
  redis.on('connect', () => {
    const { stream } = redis;
    clearTimeout(timer);
    timer = setTimeout(() => {
      // If this process was held up, the answers may lie unread in the socket.
      setImmediate(() => {
        if (redis.stream === stream && redis.status !== 'ready') stream.destroy();
      });
    }, HANDSHAKE_DEADLINE_MS).unref();
  });
  for (const settled of ['ready', 'close', 'end']) redis.on(settled, () => clearTimeout(timer));
}

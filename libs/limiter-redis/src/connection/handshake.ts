import { runningTime, type RunningTime } from '#waiting';
import type { Redis } from 'ioredis';

/** A server that lives answers the first commands of a connection at once. Milliseconds of running time. */
export const HANDSHAKE_SILENCE_MS = 400;

/**
 * Gives up a connection that was accepted and on which nothing more comes before it is ready, so that the next attempt is made.
 * Whatever lies between may accept connections for a server that it cannot reach, and those stay lost when the server is back.
 * A server that answers, if only that it is loading, is left alone.
 */
export function watchHandshake(redis: Pick<Redis, 'on' | 'stream'>, time: Pick<RunningTime, 'after'> = runningTime): void {
  let callOff = (): void => {};
  const stop = (): void => callOff();
  redis.on('connect', () => {
    const { stream } = redis;
    const watch = (read: number): void => {
      callOff = time.after(HANDSHAKE_SILENCE_MS, () => {
        if (stream.bytesRead > read) watch(stream.bytesRead);
        else stream.destroy();
      });
    };
    stop();
    watch(stream.bytesRead);
  });
  redis.on('ready', stop);
  redis.on('close', stop);
  redis.on('end', stop);
}

import type { Redis } from 'ioredis';
import { runningTime, withDeadline, type RunningTime } from '#waiting';

const BEAT_EVERY_MS = 1000;
/** Longer than any script of ours runs. */
const BEAT_DEADLINE_MS = 2000;
const MISSES_OF_A_DEAD_CONNECTION = 2;

/**
 * Replaces a connection on which nothing comes back any more, which the kernel would notice after many minutes, or never if
 * something on the way acknowledges. Every command on it fails then, so none waits for ever. Covers connections on which nothing is asked:
 * a subscriber, and a connection that hangs before it is ready. Ends with the connection.
 */
export function watchHeartbeat(
  redis: Pick<Redis, 'ping' | 'status' | 'stream' | 'once'>,
  time: Pick<RunningTime, 'after'> = runningTime,
): void {
  let watched: Redis['stream'] | undefined;
  let misses = 0;
  let timer: NodeJS.Timeout;

  const beat = async (): Promise<void> => {
    const { stream } = redis;
    if (stream !== watched) misses = 0;
    watched = stream;
    if (await isAlive(redis, time)) misses = 0;
    else if (stream === redis.stream) misses++;
    if (misses >= MISSES_OF_A_DEAD_CONNECTION) {
      misses = 0;
      stream?.destroy();
    }
    schedule();
  };
  const schedule = (): void => {
    if (redis.status !== 'end') timer = setTimeout(() => void beat(), BEAT_EVERY_MS).unref();
  };
  redis.once('end', () => clearTimeout(timer));
  schedule();
}

/** An error that Redis answers with is an answer too. */
function isAlive(redis: Pick<Redis, 'ping' | 'status'>, time: Pick<RunningTime, 'after'>): Promise<boolean> {
  if (redis.status !== 'ready') return Promise.resolve(false);
  return withDeadline(redis.ping(), BEAT_DEADLINE_MS, { time }).then(
    () => true,
    (error: Error) => error.name === 'ReplyError',
  );
}

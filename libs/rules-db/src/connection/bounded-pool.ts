import pg from 'pg';
import { DeadlineClient } from './deadline-client.js';

/** A connection that nobody uses is asked so often whether it is still there. Milliseconds. */
const BEAT_EVERY_MS = 2_000;

/** Options of the pool beside those of pg. */
export interface BoundedPoolOptions extends pg.PoolConfig {
  /** More callers than so many never wait for a connection; unbounded unless given. */
  maxWaiting?: number;
  /** Called for each caller that is turned away. */
  onShed?: () => void;
}

/** As many callers as may wait for a connection already do. This one was turned away at once, and nothing of what it wanted was done. */
export class PoolBusyError extends Error {
  constructor(maxWaiting: number) {
    super(`${maxWaiting} callers wait for a connection to the database already`);
    this.name = 'PoolBusyError';
  }
}

/**
 * A pool with a bounded queue, whose free connections are known to be alive. pg bounds how long a caller waits for a connection, and not how many do: under
 * overload all of them would wait, to fail in the end. And it learns that a connection has died from whoever uses it next.
 */
export class BoundedPool extends pg.Pool {
  private readonly maxWaiting: number;
  private readonly onShed: () => void;
  private readonly free = new Set<DeadlineClient>();

  constructor(options: BoundedPoolOptions = {}) {
    super(options);
    this.maxWaiting = options.maxWaiting ?? Infinity;
    this.onShed = options.onShed ?? (() => undefined);
    const connect = this.connect.bind(this) as (callback?: ConnectCallback) => unknown;
    this.connect = ((callback?: ConnectCallback) => {
      if (this.waitingCount < this.maxWaiting) return connect(callback);
      this.onShed();
      const error = new PoolBusyError(this.maxWaiting);
      if (callback === undefined) return Promise.reject(error);
      process.nextTick(callback, error, undefined, () => undefined);
      return undefined;
    }) as typeof this.connect;
    this.on('acquire', (client) => this.free.delete(client as unknown as DeadlineClient));
    this.on('release', (_error, client) => client instanceof DeadlineClient && this.free.add(client));
    this.on('remove', (client) => this.free.delete(client as unknown as DeadlineClient));
    const timer = setInterval(() => {
      if (this.ended) clearInterval(timer);
      else for (const client of this.free) client.beat();
    }, BEAT_EVERY_MS);
    timer.unref();
  }
}

type ConnectCallback = (error: Error | undefined, client: pg.PoolClient | undefined, release: () => void) => void;

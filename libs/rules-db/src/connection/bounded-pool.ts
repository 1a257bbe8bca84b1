import pg from 'pg';

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
 * A pool with a bounded queue. pg bounds how long a caller waits for a connection, and not how many do: under overload all of them would wait, to
 * fail in the end.
 */
export class BoundedPool extends pg.Pool {
  private readonly maxWaiting: number;
  private readonly onShed: () => void;

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
  }
}

type ConnectCallback = (error: Error | undefined, client: pg.PoolClient | undefined, release: () => void) => void;

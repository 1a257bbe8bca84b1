import pg from 'pg';

/** Options of the pool, which passes them on to each client. */
export interface ImpatientOptions extends pg.ClientConfig {
  /** Milliseconds that a statement may take, seen from here. 0 waits for ever. */
  answerTimeoutMs?: number;
}

/**
 * A connection that is given up when the server does not answer in time. pg's own `query_timeout` only stops waiting:
 * the connection goes back to the pool with its transaction still open, and the next user would commit it.
 */
export class ImpatientClient extends pg.Client {
  private readonly answerTimeoutMs: number;

  constructor(options: ImpatientOptions = {}) {
    super(options);
    this.answerTimeoutMs = options.answerTimeoutMs ?? 0;
    const query = this.query.bind(this) as (...args: unknown[]) => unknown;
    this.query = ((...args: unknown[]) => this.guarded(query, args)) as typeof this.query;
  }

  /** Only promises are guarded: TypeORM, the one user of these connections, knows no other way. */
  private guarded(query: (...args: unknown[]) => unknown, args: unknown[]): unknown {
    const answer = query(...args);
    if (this.answerTimeoutMs === 0 || !isPromise(answer)) return answer;
    const timer = setTimeout(() => {
      const { stream } = (this as unknown as { connection: { stream: { destroy(error: Error): void } } }).connection;
      stream.destroy(new Error(`PostgreSQL did not answer within ${this.answerTimeoutMs} ms`));
    }, this.answerTimeoutMs);
    const stop = (): void => clearTimeout(timer);
    answer.then(stop, stop);
    return answer;
  }
}

function isPromise(value: unknown): value is Promise<unknown> {
  return typeof (value as { then?: unknown } | undefined)?.then === 'function';
}

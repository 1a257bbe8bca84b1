import pg from 'pg';

/** Options of the pool, which passes them on to each client. */
export interface DeadlineClientOptions extends pg.ClientConfig {
  /** Milliseconds that a statement may take, seen from here. 0 waits for ever. */
  answerTimeoutMs?: number;
  /** The open connections of the same pool. When one of them is given up, so are those of which nobody expects anything. */
  siblings?: Set<DeadlineClient>;
}

/** The socket of a connection, which pg does not tell of. */
interface WithSocket {
  readonly connection: { readonly stream: { destroy(error: Error): void } };
}

/**
 * A connection that is given up when the server does not answer in time. pg's own `query_timeout` only stops waiting:
 * the connection goes back to the pool with its transaction still open, and the next user would commit it. What has
 * silenced one connection has mostly silenced all, and each idle one in the pool would cost its next user the same wait.
 */
export class DeadlineClient extends pg.Client {
  private readonly answerTimeoutMs: number;
  private readonly siblings: Set<DeadlineClient>;
  /** Statements that were not answered yet. */
  private expected = 0;

  constructor(options: DeadlineClientOptions = {}) {
    super(options);
    this.answerTimeoutMs = options.answerTimeoutMs ?? 0;
    this.siblings = options.siblings ?? new Set();
    this.once('end', () => this.siblings.delete(this));
    const query = this.query.bind(this) as (...args: unknown[]) => unknown;
    this.query = ((...args: unknown[]) => this.guarded(query, args)) as typeof this.query;
  }

  /** Only promises are guarded: TypeORM, the one user of these connections, knows no other way. */
  private guarded(query: (...args: unknown[]) => unknown, args: unknown[]): unknown {
    const answer = query(...args);
    if (this.answerTimeoutMs === 0 || !isPromise(answer)) return answer;
    this.siblings.add(this);
    this.expected++;
    let settled = false;
    // If this process was held up, the answer may lie unread in the socket.
    const timer = setTimeout(() => setImmediate(() => settled || this.giveUp()), this.answerTimeoutMs);
    const stop = (): void => {
      settled = true;
      clearTimeout(timer);
      this.expected--;
    };
    answer.then(stop, stop);
    return answer;
  }

  private giveUp(): void {
    const idle = [...this.siblings].filter((sibling) => sibling.expected === 0);
    for (const client of [this, ...idle]) {
      client.siblings.delete(client);
      const { stream } = (client as unknown as WithSocket).connection;
      stream.destroy(new Error(`PostgreSQL did not answer within ${this.answerTimeoutMs} ms`));
    }
  }
}

function isPromise(value: unknown): value is Promise<unknown> {
  return typeof (value as { then?: unknown } | undefined)?.then === 'function';
}

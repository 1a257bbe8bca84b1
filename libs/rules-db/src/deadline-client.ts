import pg from 'pg';
import { CopyOut } from './copy-out.js';

/** Options of the pool, which passes them to each client. */
export interface DeadlineClientOptions extends pg.ClientConfig {
  /** Milliseconds that the server has to answer a statement; 0 waits for ever. */
  answerTimeoutMs?: number;
  /** The open connections of the same pool. When one of them is given up, the idle ones are given up as well. */
  siblings?: Set<DeadlineClient>;
}

/** The socket of a connection, which is missing in pg's types. */
interface WithSocket {
  readonly connection: { readonly stream: { destroy(error: Error): void } };
}

/**
 * A connection with a deadline for each statement. If the server misses it, the connection is closed. pg's own `query_timeout` only
 * stops waiting: the connection returns to the pool with its transaction still open, and its next user would commit it.
 * The idle connections of the pool are closed too, because the cause mostly affects all of them, and each would cost its next user
 * the same wait.
 */
export class DeadlineClient extends pg.Client {
  private readonly answerTimeoutMs: number;
  private readonly siblings: Set<DeadlineClient>;
  /** Statements that are not answered yet. */
  private unanswered = 0;
  /** Settles when the statement that is under way has been answered. */
  private turn: Promise<void> | undefined;

  constructor(options: DeadlineClientOptions = {}) {
    super(options);
    this.answerTimeoutMs = options.answerTimeoutMs ?? 0;
    this.siblings = options.siblings ?? new Set();
    this.once('end', () => this.siblings.delete(this));
    const query = this.query.bind(this) as (...args: unknown[]) => unknown;
    this.query = ((...args: unknown[]) => this.guarded(query, args)) as typeof this.query;
  }

  /** Gives each line of a `COPY … TO STDOUT` to `onLine` and resolves after the last one. */
  copyOut(statement: string, onLine: (line: string) => void): Promise<void> {
    return this.guarded(() => super.query(new CopyOut(statement, onLine)).ended, []) as Promise<void>;
  }

  /**
   * Sets the deadline of a statement, from when it is sent: a transaction may make the next one while one is under way. Only promises have one: TypeORM always
   * asks for them.
   */
  private guarded(query: (...args: unknown[]) => unknown, args: unknown[]): unknown {
    if (this.turn !== undefined) return this.turn.then(() => this.guarded(query, args));
    const answer = query(...args);
    if (this.answerTimeoutMs === 0 || !isPromise(answer)) return answer;
    this.siblings.add(this);
    this.unanswered++;
    let settled = false;
    // If this process was held up, the answer may be in the socket unread: it is read before the timer's immediate runs.
    const timer = setTimeout(() => setImmediate(() => settled || this.giveUp()), this.answerTimeoutMs);
    const stop = (): void => {
      settled = true;
      clearTimeout(timer);
      this.unanswered--;
      this.turn = undefined;
    };
    this.turn = answer.then(stop, stop);
    return answer;
  }

  private giveUp(): void {
    const idle = [...this.siblings].filter((sibling) => sibling.unanswered === 0);
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

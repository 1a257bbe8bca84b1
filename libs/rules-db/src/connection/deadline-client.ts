import pg from 'pg';
import { CopyOut } from './copy-out.js';
import { PathWatch, type PathUser } from './path-watch.js';

/** Options of the pool, which passes them to each client. */
export interface DeadlineClientOptions extends pg.ClientConfig {
  /** Milliseconds that the server has to answer a statement; 0 waits for ever. */
  answerTimeoutMs?: number;
  /** Watches the path for all connections of the same pool. */
  pathWatch?: PathWatch;
}

/** The socket of a connection, which is missing in pg's types. */
interface WithSocket {
  readonly connection: { readonly stream: { readonly bytesRead?: number; destroy(error: Error): void } };
}

/**
 * A connection with a deadline for each statement. If the server misses it, the connection is closed. pg's own `query_timeout` only
 * stops waiting: the connection returns to the pool with its transaction still open, and its next user would commit it.
 * The idle connections of the pool are closed too. What is silent because the path to the server was away is given up before its deadline.
 */
export class DeadlineClient extends pg.Client implements PathUser {
  private readonly answerTimeoutMs: number;
  private readonly pathWatch: PathWatch;
  /** Settles when the statement that is under way has been answered. */
  private turn: Promise<void> | undefined;
  waitsSinceMs: number | undefined;
  beats = false;

  constructor(options: DeadlineClientOptions = {}) {
    super(options);
    this.answerTimeoutMs = options.answerTimeoutMs ?? 0;
    this.pathWatch = options.pathWatch ?? new PathWatch();
    this.once('end', () => this.pathWatch.remove(this));
    const query = this.query.bind(this) as (...args: unknown[]) => unknown;
    this.query = ((...args: unknown[]) => this.guarded(query, args)) as typeof this.query;
    const connect = this.connect.bind(this) as (callback: ConnectCallback) => void;
    this.connect = ((callback?: ConnectCallback) => this.watchedConnect(connect, callback)) as typeof this.connect;
  }

  get heardBytes(): number {
    return this.socket.bytesRead ?? 0;
  }

  /** Gives each line of a `COPY … TO STDOUT` to `onLine` and resolves after the last one. */
  copyOut(statement: string, onLine: (line: string) => void): Promise<void> {
    return this.guarded(() => super.query(new CopyOut(statement, onLine)).ended, []) as Promise<void>;
  }

  /** Asks for nothing, if nothing else is asked for: an answer says that the connection is alive. */
  beat(): void {
    if (this.waitsSinceMs !== undefined || this.answerTimeoutMs === 0) return;
    this.beats = true;
    const answer = this.query('');
    // Whoever uses the connection next hears of it.
    answer.then(undefined, () => undefined);
  }

  giveUp(reason: string): void {
    this.pathWatch.remove(this);
    this.socket.destroy(new Error(`PostgreSQL did not answer: ${reason}`));
  }

  private get socket(): WithSocket['connection']['stream'] {
    return (this as unknown as WithSocket).connection.stream;
  }

  private watchedConnect(connect: (callback: ConnectCallback) => void, callback: ConnectCallback | undefined): Promise<void> | undefined {
    if (callback === undefined)
      return new Promise((resolve, reject) => this.watchedConnect(connect, (error) => (error ? reject(error) : resolve())));
    this.begin();
    connect((...answer) => {
      this.waitsSinceMs = undefined;
      if (answer[0]) this.pathWatch.remove(this);
      callback(...answer);
    });
    return undefined;
  }

  /**
   * Sets the deadline of a statement, from when it is sent: a transaction may make the next one while one is under way. Only promises have one: TypeORM always
   * asks for them.
   */
  private guarded(query: (...args: unknown[]) => unknown, args: unknown[]): unknown {
    if (this.turn !== undefined) return this.turn.then(() => this.guarded(query, args));
    const answer = query(...args);
    if (this.answerTimeoutMs === 0 || !isPromise(answer)) return answer;
    this.begin();
    let settled = false;
    // If this process was held up, the answer may be in the socket unread: it is read before the timer's immediate runs.
    const timer = setTimeout(() => setImmediate(() => settled || this.isLate()), this.answerTimeoutMs);
    const stop = (): void => {
      settled = true;
      clearTimeout(timer);
      this.waitsSinceMs = undefined;
      this.beats = false;
      this.turn = undefined;
    };
    this.turn = answer.then(stop, stop);
    return answer;
  }

  private begin(): void {
    if (this.answerTimeoutMs === 0) return;
    this.waitsSinceMs = performance.now();
    this.pathWatch.add(this);
    this.pathWatch.watch();
  }

  private isLate(): void {
    const reason = `nothing came within ${this.answerTimeoutMs} ms`;
    this.giveUp(reason);
    this.pathWatch.giveUpIdle(reason);
  }
}

type ConnectCallback = (error?: Error | null, ...more: unknown[]) => void;

function isPromise(value: unknown): value is Promise<unknown> {
  return typeof (value as { then?: unknown } | undefined)?.then === 'function';
}

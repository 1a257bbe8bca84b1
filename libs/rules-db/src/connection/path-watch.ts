import { connect, type Socket } from 'node:net';
import { runningTime } from '#waiting';

/** How often the path is tried while somebody waits. Milliseconds. */
const STEP_MS = 300;
/** PostgreSQL answers the first message of a connection at once; so does a pooler in front of it. */
const PROBE_MS = 250;
/** So many probes without an answer, one after the other, and the path is away. One alone may be a busy server. */
const SILENT_PROBES = 2;
/** A healthy server has answered a read by a key within so many milliseconds. */
const GRACE_MS = 200;
/** A statement that costs nothing is not late because of the server if new connections are answered all the while. */
const BEAT_MS = 1_000;

/** SSLRequest, the one message that is answered before anybody says who they are: https://www.postgresql.org/docs/current/protocol-message-formats.html */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);

/** A connection, or the attempt at one, that may hang on a path that is gone. */
export interface PathUser {
  readonly host: string;
  readonly port: number;
  /** When it sent what has no answer yet, by `performance.now()`; undefined if it waits for nothing. */
  readonly waitsSinceMs: number | undefined;
  /** Whether what it waits for costs a server nothing. */
  readonly beats: boolean;
  /** Bytes that ever came. */
  readonly heardBytes: number;
  giveUp(reason: string): void;
}

/**
 * Tells a path to PostgreSQL that has come back from a server that is slow. What was sent while the path was a black hole is never answered, and neither the
 * socket nor its deadline knows. So while anybody waits, new connections are tried beside. If none was answered for a while and one is again,
 * whatever was sent before and is still silent is lost: it is given up at once, and its place in the pool is free for a new connection. If they are answered
 * all the while and a statement that costs nothing is not, its connection alone is dead.
 */
export class PathWatch {
  private readonly users = new Set<PathUser>();
  private silentProbes = 0;
  private isWatching = false;

  add(user: PathUser): void {
    this.users.add(user);
  }

  remove(user: PathUser): void {
    this.users.delete(user);
  }

  /** Somebody waits from now on. */
  watch(): void {
    if (this.isWatching) return;
    this.isWatching = true;
    this.lookLater();
  }

  /** Gives up the connections that nobody waits on: what has happened to one of them has mostly happened to all, and each would cost its next user the same wait. */
  giveUpIdle(reason: string): void {
    for (const user of [...this.users]) if (user.waitsSinceMs === undefined) this.giveUp(user, reason);
  }

  private lookLater(): void {
    setTimeout(() => void this.look(), STEP_MS).unref();
  }

  private async look(): Promise<void> {
    const startMs = performance.now();
    const oldest = [...this.users].reduce<PathUser | undefined>((one, other) => (isOlder(other, one) ? other : one), undefined);
    if (oldest?.waitsSinceMs === undefined) {
      this.isWatching = false;
      this.silentProbes = 0;
      return;
    }
    if (startMs - oldest.waitsSinceMs >= STEP_MS) await this.probe(oldest, startMs);
    this.lookLater();
  }

  private async probe(target: PathUser, startMs: number): Promise<void> {
    const before = [...this.users].map((user) => ({ user, heardBytes: user.heardBytes }));
    if (!(await isAnswered(target))) {
      this.silentProbes++;
      return;
    }
    const wasAway = this.silentProbes >= SILENT_PROBES;
    this.silentProbes = 0;
    await new Promise<void>((resolve) => void runningTime.after(GRACE_MS, resolve));
    const silent = before.filter(({ user, heardBytes }) => this.users.has(user) && user.heardBytes === heardBytes).map(({ user }) => user);
    const lost = silent.filter((user) => (wasAway ? isFrom(user, startMs) : user.beats && isFrom(user, startMs - BEAT_MS)));
    const reason = wasAway ? 'the path to it was away' : 'this connection is dead';
    for (const user of lost) this.giveUp(user, reason);
    if (wasAway || lost.length > 0) this.giveUpIdle(reason);
  }

  private giveUp(user: PathUser, reason: string): void {
    this.users.delete(user);
    user.giveUp(reason);
  }
}

const isOlder = (one: PathUser, other: PathUser | undefined): boolean =>
  one.waitsSinceMs !== undefined && (other?.waitsSinceMs === undefined || one.waitsSinceMs < other.waitsSinceMs);

const isFrom = ({ waitsSinceMs }: PathUser, untilMs: number): boolean => waitsSinceMs !== undefined && waitsSinceMs < untilMs;

/** Whether a new connection is answered in time. */
function isAnswered({ host, port }: PathUser): Promise<boolean> {
  const socket: Socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect({ host, port });
  return new Promise((resolve) => {
    const end = (answered: boolean): void => {
      callOff();
      socket.destroy();
      resolve(answered);
    };
    const callOff = runningTime.after(PROBE_MS, () => end(false));
    socket.once('data', () => end(true)).on('error', () => end(false));
    socket.write(SSL_REQUEST);
  });
}

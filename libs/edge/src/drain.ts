import { Server as NetServer } from 'node:net';

/** A connection as its end concerns it. */
export interface Drainable {
  /** Whether no request is under way. */
  readonly idle: boolean;
  /** A number that changes when something has come from the client. */
  readonly activity: number;
  /** Tells the client to send no more here, where that can be said without an answer. */
  drain?(): void;
  /** Nothing is under way, and nothing has come for a while. */
  closeQuietly(): void;
  cut(): void;
  /** Begins to end what would never end by itself. */
  closeTunnel?(): void;
}

const LOOK_EVERY_MS = 50;

/** A kept-alive connection on which nothing came for so long is closed; a client that was about to ask again has asked by then. */
const QUIET_MS = 500;
const QUIET_LOOKS = QUIET_MS / LOOK_EVERY_MS;

/** Before listening stops: no new connection for so long, from some time on in one turn, and at the end at once. */
const NOBODY_CAME_MS = 10;
const COMING_MS = 500;
const MOST_COMING_MS = 1_000;

/**
 * Calls back in a turn of the event loop in which no connection has come, nor for a while. Connections that the system has made and the process has not accepted yet are reset when listening
 * stops, with the requests that were sent on them. One of them is accepted a turn, so a turn without one says that none is left. A worker gets them from the primary, which takes some turns. Where clients
 * come all the time, the first turn without one has to do after half a second.
 */
function onceNobodyComes(server: NetServer, then: () => void): void {
  const beganMs = performance.now();
  let [cameMs, came] = [beganMs, true];
  const onConnection = (): void => {
    cameMs = performance.now();
    came = true;
  };
  const afterATurn = (): void => {
    const nowMs = performance.now();
    const isQuiet = !came && (nowMs - cameMs >= NOBODY_CAME_MS || nowMs - beganMs >= COMING_MS);
    if (isQuiet || nowMs - beganMs >= MOST_COMING_MS) {
      server.off('connection', onConnection);
      then();
    } else {
      came = false;
      setImmediate(afterATurn);
    }
  };
  server.on('connection', onConnection);
  setImmediate(afterATurn);
}

/**
 * Closes connections without cutting off a request that is on its way. A connection that is idle at one instant may get
 * its next request in the same millisecond, and closing it then would lose that request. So a connection is closed when
 * its answer has said so, or when nothing at all has come for a while, and only after the sockets have been read.
 */
export class Drain {
  private timer: NodeJS.Timeout | undefined;
  private readonly quiet = new Map<Drainable, { looks: number; activity: number }>();
  private closing: { stopListening: () => void; looksLeft: number } | undefined;

  constructor(private readonly connections: ReadonlySet<Drainable>) {}

  /** Begins to watch which connections are quiet. */
  watch(): void {
    if (this.timer !== undefined) return;
    for (const connection of this.connections) connection.drain?.();
    // Behind the phase in which sockets are read: what has arrived by now has been parsed.
    this.timer = setInterval(() => setImmediate(this.look), LOOK_EVERY_MS);
  }

  /**
   * Closes the connections as they become quiet, and cuts off what is still there after `graceMs`. Resolves when the server has closed all of them.
   *
   * @param cutOff is called after the grace, behind the connections
   */
  closeServer(server: NetServer, graceMs: number, cutOff: () => void = () => {}): Promise<void> {
    return new Promise((resolve) => {
      let listening = true;
      const stopListening = (): void => {
        // Node's HTTP server would also close connections that are idle at this instant.
        if (listening) NetServer.prototype.close.call(server, () => resolve());
        listening = false;
      };
      this.close(() => onceNobodyComes(server, stopListening));
      setTimeout(() => {
        stopListening();
        for (const connection of this.connections) connection.cut();
        cutOff();
      }, graceMs).unref();
    });
  }

  end(): void {
    clearInterval(this.timer);
  }

  /**
   * Closes the quiet connections, and from now on each that becomes quiet.
   *
   * @param stopListening is called once no connection is idle any more, after half a second at the latest
   */
  private close(stopListening: () => void): void {
    this.closing = { stopListening, looksLeft: QUIET_LOOKS };
    this.look();
    this.watch();
  }

  private readonly look = (): void => {
    let idle = 0;
    for (const connection of this.connections) {
      if (!this.isQuiet(connection)) {
        if (connection.idle) idle++;
      } else if (this.closing) {
        connection.closeQuietly();
      }
    }
    if (this.closing === undefined || (idle > 0 && this.closing.looksLeft-- > 0)) return;
    const { stopListening } = this.closing;
    this.closing.stopListening = () => {};
    stopListening();
  };

  private isQuiet(connection: Drainable): boolean {
    const { activity } = connection;
    const before = this.quiet.get(connection);
    if (!connection.idle || before === undefined || before.activity !== activity) {
      this.quiet.set(connection, { looks: 0, activity });
      return false;
    }
    return ++before.looks >= QUIET_LOOKS;
  }
}

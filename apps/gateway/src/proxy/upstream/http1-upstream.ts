import type { Socket } from 'node:net';
import { type buildConnector, errors } from 'undici';
import { CoarseClock } from '../coarse-clock.js';
import { type Http1Request, isWritable } from './http1-request-text.js';
import { type Http1ConnectionOwner, Http1UpstreamConnection } from './http1-upstream-connection.js';
import type { StreamTimeouts, UpstreamHandler } from './http2-upstream-stream.js';

interface Waiting {
  readonly request: Http1Request;
  readonly handler: UpstreamHandler;
}

/**
 * The connections to one address of HTTP/1.1 without TLS, for the fast lane: each carries one request at a time, and is kept for the next. How many requests there are is bounded
 * by the slots of the upstream, and so are the connections: one is opened for a request that finds none.
 *
 * Nothing is ever sent twice. A request goes over a connection that was used before only after all sockets have been read since that answer: bytes that nobody
 * has asked for, or the end of the connection, show by then, and end it.
 */
export class Http1Upstream implements Http1ConnectionOwner {
  private readonly connections = new Set<Http1UpstreamConnection>();
  /** Those that may be used, and those that have answered since the sockets were read. */
  private readonly idle: Http1UpstreamConnection[] = [];
  private resting: Http1UpstreamConnection[] = [];
  private waiting: Waiting[] = [];
  private readonly clock = new CoarseClock();
  private isWatched = false;
  private isDestroyed = false;
  private willPlace = false;

  constructor(
    private readonly url: URL,
    private readonly connect: buildConnector.connector,
    private readonly timeouts: StreamTimeouts,
  ) {}

  dispatch(request: Http1Request, handler: UpstreamHandler): void {
    if (this.isDestroyed) return handler.onError(new errors.ClientDestroyedError());
    if (!isWritable(request)) return handler.onError(new errors.InvalidArgumentError('a character that no request may have'));
    this.waiting.push({ request, handler });
    this.placeSoon();
  }

  becameFree(connection: Http1UpstreamConnection): void {
    this.resting.push(connection);
    this.placeSoon();
  }

  closed(connection: Http1UpstreamConnection): void {
    this.connections.delete(connection);
    remove(this.idle, connection);
    remove(this.resting, connection);
  }

  /** Cuts its connections. */
  destroy(): Promise<void> {
    this.isDestroyed = true;
    this.clock.stop();
    for (const connection of [...this.connections]) connection.end(new errors.ClientDestroyedError());
    for (const { handler } of this.waiting.splice(0)) handler.onError(new errors.ClientDestroyedError());
    return Promise.resolve();
  }

  private placeSoon(): void {
    if (this.willPlace) return;
    this.willPlace = true;
    setImmediate(this.place);
  }

  private readonly place = (): void => {
    this.willPlace = false;
    const { idle, resting, waiting } = this;
    this.waiting = [];
    this.resting = [];
    for (const each of waiting) {
      const connection = idle.pop();
      if (connection !== undefined) connection.send(each.request, each.handler);
      // One is about to be usable.
      else if (this.waiting.length < resting.length) this.waiting.push(each);
      else this.open(each);
    }
    for (const connection of resting) if (this.connections.has(connection)) idle.push(connection);
    if (this.waiting.length > 0) this.placeSoon();
  };

  private open({ request, handler }: Waiting): void {
    if (!this.isWatched) this.clock.start((elapsedMs) => this.tick(elapsedMs));
    this.isWatched = true;
    const { host, hostname, port, protocol } = this.url;
    this.connect({ host, hostname, port, protocol } as buildConnector.Options, (error, socket) => {
      if (error !== null) return handler.onError(error);
      if (this.isDestroyed) {
        socket.destroy();
        return handler.onError(new errors.ClientDestroyedError());
      }
      const connection = new Http1UpstreamConnection(socket as Socket, this.url.host, this.timeouts, this);
      this.connections.add(connection);
      connection.send(request, handler);
    });
  }

  private tick(elapsedMs: number): void {
    for (const connection of [...this.connections]) connection.tick(elapsedMs);
  }
}

function remove<T>(list: T[], item: T): void {
  const at = list.indexOf(item);
  if (at !== -1) list.splice(at, 1);
}

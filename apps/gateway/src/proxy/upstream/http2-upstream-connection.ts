import { connect as connectHttp2, type ClientHttp2Session, type Settings } from 'node:http2';
import type { Socket } from 'node:net';
import { type buildConnector, errors } from 'undici';
import { Http2Presence } from '../http2/http2-presence.js';
import { MOST_HEADER_BYTES } from './http2-upstream-headers.js';
import { Http2UpstreamStream, type StreamTimeouts, type UpstreamHandler, type UpstreamRequest } from './http2-upstream-stream.js';

export interface ConnectionOptions extends StreamTimeouts {
  /** Until the upstream has accepted a connection and has said how it speaks HTTP/2. */
  readonly connectTimeoutMs: number;
}

/** More than one connection carries are not worth another one that waits behind a lost packet. Their unread bytes are bounded with them. */
const MOST_STREAMS = 100;
/** What streams may have in memory, in megabytes: 64 KiB each, and their headers. */
const SESSION_MEMORY_MB = 32;
/** As undici keeps a connection that nobody needs. */
const KEPT_IDLE_MS = 4_000;
/** Of an upstream that is silent while requests wait for it. */
const PRESENCE = { http2PingAfterMs: 5_000, http2PingTimeoutMs: 5_000 };

/** A request that waits for a connection to be opened. */
export interface WaitingRequest {
  readonly request: UpstreamRequest;
  readonly handler: UpstreamHandler;
}

/** Is told of a connection. */
export interface ConnectionOwner {
  /** The upstream takes fewer requests on one connection than wait for it: this one has to find another. */
  place(waiting: WaitingRequest): void;
  closed(connection: Http2UpstreamConnection): void;
}

/** One connection to an upstream that speaks HTTP/2 without TLS, and is known to (RFC 9113, 3.3). */
export class Http2UpstreamConnection {
  private readonly streams = new Set<Http2UpstreamStream>();
  private waiting: WaitingRequest[] = [];
  private session: ClientHttp2Session | undefined;
  private presence: Http2Presence | undefined;
  private isOpen = false;
  private isOver = false;
  private limit = MOST_STREAMS;
  private openingMs = 0;
  private idleMs = 0;

  constructor(
    private readonly url: URL,
    connect: buildConnector.connector,
    private readonly options: ConnectionOptions,
    private readonly owner: ConnectionOwner,
  ) {
    const { host, hostname, port, protocol } = url;
    connect({ host, hostname, port, protocol } as buildConnector.Options, (error, socket) => {
      if (error !== null) this.end(error);
      else if (this.isOver) socket.destroy();
      else this.connected(socket as Socket);
    });
  }

  /** Whether there is room for one more request. */
  get hasRoom(): boolean {
    if (this.isOver || this.session?.closed === true) return false;
    return (this.isOpen ? this.streams.size : this.waiting.length) < this.limit;
  }

  take(request: UpstreamRequest, handler: UpstreamHandler): void {
    this.idleMs = 0;
    if (!this.isOpen) {
      this.waiting.push({ request, handler });
      return;
    }
    const stream = new Http2UpstreamStream(request, handler, this.options, (over) => this.streams.delete(over));
    this.streams.add(stream);
    stream.open(this.session!, this.url.host);
  }

  /** @param elapsedMs since the last call, in which this process ran */
  tick(elapsedMs: number): void {
    for (const stream of this.streams) stream.tick(elapsedMs);
    if (!this.isOpen) {
      // Until there is a session, the connector has its own deadline.
      if (this.session !== undefined) this.openingMs += elapsedMs;
      if (this.openingMs > this.options.connectTimeoutMs) this.end(new errors.ConnectTimeoutError());
      return;
    }
    // It is about to say that it is gone.
    if (this.session!.destroyed) return;
    if (this.streams.size > 0) {
      if (this.presence!.isGone(elapsedMs)) this.end(new Error('the upstream does not answer on its connection'));
      return;
    }
    this.idleMs += elapsedMs;
    if (this.idleMs > KEPT_IDLE_MS) this.session!.close();
  }

  /** Cuts it; all requests on it fail. */
  end(error: Error): void {
    if (this.isOver) return;
    this.isOver = true;
    // Nobody takes it for one that has room any more.
    this.owner.closed(this);
    for (const stream of [...this.streams]) stream.fail(error);
    this.session?.destroy();
    for (const { handler } of this.waiting.splice(0)) handler.onError(error);
  }

  private connected(socket: Socket): void {
    const session = connectHttp2(this.url.origin, {
      createConnection: () => socket,
      settings: { enablePush: false, maxHeaderListSize: MOST_HEADER_BYTES },
      maxSessionMemory: SESSION_MEMORY_MB,
    });
    this.session = session;
    this.presence = new Http2Presence(socket, session, PRESENCE);
    session.on('remoteSettings', (settings: Settings) => this.told(settings));
    session.on('error', (error: Error) => this.end(error));
    session.on('close', () => this.end(new Error('the upstream closed the connection')));
  }

  /** How the upstream wants to be spoken to, at the beginning or anew. */
  private told({ maxConcurrentStreams = MOST_STREAMS }: Settings): void {
    this.limit = Math.min(maxConcurrentStreams, MOST_STREAMS);
    if (this.isOpen || this.isOver) return;
    // Another connection would be told the same.
    if (this.limit === 0) return this.end(new Error('the upstream takes no requests on its connections'));
    this.isOpen = true;
    for (const { request, handler } of this.waiting.splice(0)) {
      if (this.hasRoom) this.take(request, handler);
      else this.owner.place({ request, handler });
    }
  }
}

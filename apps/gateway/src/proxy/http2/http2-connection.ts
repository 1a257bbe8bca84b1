import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { canonicalAddress } from '#addresses';
import type { DataPlane, Timed } from '../data-plane.js';
import type { Drainable, ShownCertificate } from '#edge';
import { Allowance } from '#limiter';
import { Http2Exchange, type SharedConnection } from './http2-exchange.js';
import { Http2Presence } from './http2-presence.js';

const { NGHTTP2_CANCEL, NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_NO_ERROR } = constants;

/** The highest id of a stream: a GOAWAY with it says that no more should come, and that what is on its way is served. */
const LAST_STREAM_ID = 2 ** 31 - 1;

/** Streams that end before their answer is whole, in a second: reset by the client, or by us for what the client did. */
const MOST_RESETS_PER_SECOND = 100;
/** Frames that make us write one, in a second. */
const MOST_PINGS_PER_SECOND = 100;
const MOST_SETTINGS_PER_SECOND = 20;

/** So long a client has to close a connection that is told to end. Milliseconds. */
const CLOSING_MS = 2_000;

/**
 * One connection of HTTP/2 from a client. Each stream is an exchange of its own; a connection that is abused by cheap frames (resets, PING,
 * SETTINGS) is told to calm down, and ended.
 */
export class Http2Connection implements Timed, Drainable, SharedConnection {
  /** The remote address in canonical text. */
  readonly peer: string;
  readonly trusted: boolean;
  /** The last Host value that was found valid. */
  host = '';
  /** Streams that were opened so far. */
  activity = 0;

  private readonly streams = new Set<Http2Exchange>();
  private readonly resets = new Allowance(MOST_RESETS_PER_SECOND, MOST_RESETS_PER_SECOND, 0);
  private readonly pings = new Allowance(MOST_PINGS_PER_SECOND, MOST_PINGS_PER_SECOND, 0);
  private readonly settings = new Allowance(MOST_SETTINGS_PER_SECOND, MOST_SETTINGS_PER_SECOND, 0);
  private readonly presence: Http2Presence;
  private told = false;
  private idleMs = 0;
  private closingMs = -1;

  constructor(
    private readonly plane: DataPlane,
    private readonly socket: TLSSocket,
    private readonly session: ServerHttp2Session,
    readonly certificate: ShownCertificate | null,
  ) {
    this.peer = canonicalAddress(socket.remoteAddress ?? '');
    this.trusted = plane.trusts(this.peer);
    this.presence = new Http2Presence(socket, session, plane.settings);
    // Node gives the headers as they came as well, which its types do not know.
    session.on('stream', (...args: unknown[]) => this.opened(args[0] as ServerHttp2Stream, args[3] as readonly string[]));
    session.on('ping', () => this.count(this.pings));
    session.on('remoteSettings', () => this.count(this.settings));
    // An error of a connection ends it, and with it its streams, which report that themselves.
    session.on('error', () => {});
  }

  get idle(): boolean {
    return this.streams.size === 0;
  }

  drain(): void {
    if (this.told || this.session.destroyed) return;
    this.told = true;
    this.session.goaway(NGHTTP2_NO_ERROR, LAST_STREAM_ID);
  }

  closeQuietly(): void {
    if (this.closingMs >= 0) return;
    this.closingMs = 0;
    this.session.close();
  }

  cut(): void {
    this.session.destroy(new Error('the connection was cut'), NGHTTP2_CANCEL);
    this.socket.destroy();
  }

  tick(nowMs: number, elapsedMs: number): void {
    for (const stream of this.streams) stream.tick(nowMs, elapsedMs);
    if (this.presence.isGone(elapsedMs)) return this.cut();
    this.idleMs = this.streams.size === 0 ? this.idleMs + elapsedMs : 0;
    if (this.closingMs >= 0) {
      this.closingMs += elapsedMs;
      if (this.closingMs > CLOSING_MS && this.idle) this.cut();
    } else if (this.idleMs > this.mostIdleMs) this.closeQuietly();
  }

  /** The answer to a stream is out, or the stream is gone. */
  left(exchange: Http2Exchange, wasReset: boolean): void {
    this.streams.delete(exchange);
    if (wasReset) this.count(this.resets);
  }

  /** The client has closed its side: what it has asked is answered, and of what is not whole the rest never comes. */
  clientEnded(): void {
    for (const stream of this.streams) stream.clientEnded();
    this.closeQuietly();
  }

  /** The socket has closed. */
  closed(): void {
    for (const stream of this.streams) stream.gone();
    this.streams.clear();
  }

  /** A connection has as long for its first request as one of HTTP/1.1. */
  private get mostIdleMs(): number {
    const { clientHeadersTimeoutMs, keepAliveTimeoutMs } = this.plane.settings;
    return this.activity === 0 ? clientHeadersTimeoutMs : keepAliveTimeoutMs;
  }

  private opened(stream: ServerHttp2Stream, rawHeaders: readonly string[]): void {
    this.activity++;
    const exchange = new Http2Exchange(this.plane, this, stream);
    this.streams.add(exchange);
    exchange.begin(rawHeaders);
    // What a client sent before it could read the first GOAWAY is served as well.
    if (this.plane.draining) this.drain();
  }

  private count(allowance: Allowance): void {
    if (allowance.take(this.plane.clock.nowMs) || this.session.destroyed) return;
    this.plane.shed('http2_flood', this.peer);
    this.session.destroy(new Error('too many frames'), NGHTTP2_ENHANCE_YOUR_CALM);
  }
}

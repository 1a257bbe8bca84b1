import type { Socket } from 'node:net';
import type { ServerHttp2Session } from 'node:http2';

export interface PresenceSettings {
  /** A client of HTTP/2 from which nothing has come for so long is asked whether it is there. Milliseconds. */
  readonly http2PingAfterMs: number;
  /** So long it has for its answer. */
  readonly http2PingTimeoutMs: number;
}

/**
 * Whether somebody is still at the other end of a connection of HTTP/2, found out by PING, once for each time in which nothing comes.
 *
 * When something is wrong with a whole connection, nghttp2 says so in a GOAWAY and reads no further, and node does not tell: without the question the
 * connection, and all that is under way on it, would stay until it counts as idle, also after its client has gone.
 */
export class Http2Presence {
  private readBefore = 0;
  /** How many bytes had come when the client last showed that it is there without being in need of anything. */
  private readWhenSeen = -1;
  private silentMs = 0;
  private isAsked = false;

  constructor(
    private readonly socket: Pick<Socket, 'bytesRead'>,
    private readonly session: Pick<ServerHttp2Session, 'ping'>,
    private readonly settings: PresenceSettings,
  ) {}

  /** @param elapsedMs since the last call, in which this process ran */
  isGone(elapsedMs: number): boolean {
    const { bytesRead } = this.socket;
    if (bytesRead !== this.readBefore) {
      this.readBefore = bytesRead;
      this.silentMs = 0;
      this.isAsked = false;
      return false;
    }
    if (bytesRead === this.readWhenSeen) return false;
    this.silentMs += elapsedMs;
    const { http2PingAfterMs, http2PingTimeoutMs } = this.settings;
    if (this.isAsked) return this.silentMs > http2PingAfterMs + http2PingTimeoutMs;
    if (this.silentMs > http2PingAfterMs) this.ask();
    return false;
  }

  private ask(): void {
    this.isAsked = this.session.ping((error) => {
      // What is read from now on is more than the answer.
      if (error === null) this.readWhenSeen = this.readBefore = this.socket.bytesRead;
    });
  }
}

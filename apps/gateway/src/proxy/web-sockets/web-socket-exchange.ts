import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { rawValues } from '#edge';
import type { DataPlane } from '../data-plane.js';
import { Exchange, Phase } from '../exchange.js';
import type { ExchangeConnection } from '../exchange-connection.js';
import type { MerchantLoad } from '../sharing/merchant-load.js';
import { PROBLEMS } from '../problems.js';
import { Outcome } from '../proxy-metrics.js';
import { Tunnel, type TunnelEnd } from './tunnel.js';
import { acceptsWebSocket } from './web-socket-handshake.js';

const SWITCHING_PROTOCOLS = 101;

/**
 * The opening handshake of a WebSocket, and the WebSocket itself, if the upstream opens one: it is decided about and charged like any request, and is under way until it is
 * closed. Every other answer of the upstream is an answer like any other, and the last one on its connection: node has read all that it is going to read of it.
 */
export class WebSocketExchange extends Exchange {
  readonly upgrade = 'websocket';
  private tunnel: Tunnel | null = null;
  private countedFor: MerchantLoad | null = null;

  constructor(
    plane: DataPlane,
    connection: ExchangeConnection,
    private readonly handshake: IncomingMessage,
    response: ServerResponse,
    private readonly socket: Socket,
  ) {
    super(plane, connection, handshake, response, false);
  }

  override forward(): void {
    if (this.ended) return;
    // A handshake of HTTP/1.1 has no counterpart there that the gateway speaks.
    if (this.route!.upstream.options.http2 === true) return this.reject(PROBLEMS.upgrade);
    const load = this.load!;
    if (this.plane.webSockets.enter(load)) {
      this.countedFor = load;
      super.forward();
    } else this.shed('websockets', PROBLEMS.tooManyWebSockets);
  }

  switched(rawHeaders: Buffer[], upstream: TunnelEnd): boolean {
    const { connection, plane, response, socket } = this;
    if (!acceptsWebSocket(rawValues(this.handshake.rawHeaders, 'sec-websocket-key')[0]!, rawHeaders)) {
      this.upstreamFailed('invalid_response', new Error('the upstream switched to another protocol than WebSocket'));
      return false;
    }
    const { headers } = this.answeredHead(SWITCHING_PROTOCOLS, rawHeaders);
    response.writeHead(SWITCHING_PROTOCOLS, [...headers, 'Connection', 'Upgrade', 'Upgrade', 'websocket']);
    response.flushHeaders();
    this.phase = Phase.Answering;
    // Silence is bounded by the tunnel, in both directions together.
    connection.allowSilence(0);
    this.tunnel = new Tunnel(socket, upstream, plane.settings.webSocketIdleTimeoutMs);
    if (plane.closing) this.tunnel.close();
    return true;
  }

  /** Says to both sides that nothing more comes; what is on its way arrives. */
  closeTunnel(): void {
    this.tunnel?.close();
  }

  override tick(nowMs: number, elapsedMs: number): void {
    super.tick(nowMs, elapsedMs);
    if (this.tunnel?.tick(elapsedMs) !== true) return;
    this.plane.shed('websocket_idle', this.owner);
    this.tunnel.close();
  }

  /** Whoever closed it, a WebSocket has ended as WebSockets do. */
  override clientGone(): void {
    if (this.tunnel === null) super.clientGone();
    else if (!this.ended) this.end(Outcome.Forwarded, SWITCHING_PROTOCOLS);
  }

  protected override end(outcome: Outcome, status: number): void {
    super.end(outcome, status);
    if (this.countedFor !== null) this.plane.webSockets.leave(this.countedFor);
    this.countedFor = null;
    // What comes behind the handshake is nothing that anybody has agreed to.
    if (this.tunnel === null) this.socket.resume();
  }
}

/** An answer on a socket that node's server has let go of, with all that node would look after. */
export function responseOn(socket: Socket, request: IncomingMessage): ServerResponse {
  const response = new ServerResponse(request);
  response.assignSocket(socket);
  socket.on('drain', () => response.emit('drain'));
  return response;
}

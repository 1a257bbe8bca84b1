import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { AddressInfo, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { canonicalAddress } from '#addresses';
import { Drain, type Drainable, type PairOfFiles, secureContext, type ShownCertificate, shownCertificate } from '#edge';
import { ClientConnection } from './http1/client-connection.js';
import { DataPlane } from './data-plane.js';
import { Http2Connection } from './http2/http2-connection.js';
import { LeanRequest } from './messages/lean-request.js';
import { isUnknownMethod } from './messages/methods.js';
import { PlainConnection } from './http1/plain-connection.js';
import { PROBLEMS, type Problem } from './problems.js';
import { proxySettings, type ProxyOptions, type ProxySettings } from './proxy-options.js';
import type { Routing } from './routes.js';
import { createTlsServer, http2Session, type TlsOptions, type TlsServer } from './tls-server.js';

const CONNECTION = Symbol('connection');

/** How often node looks for clients that are late with their headers. */
const HEADERS_CHECK_MS = 1_000;

const MOST_TURNS = 10;

interface ClientSocket extends Socket {
  [CONNECTION]?: ClientConnection;
}

/**
 * The data plane: an HTTP server (1.1, and 2 where TLS negotiates it) that asks `admit` about each request, and forwards it to the upstream or answers
 * with the refusal. Bodies are streamed both ways; only small request bodies are collected first.
 *
 * Not supported, and answered so: CONNECT, upgrades to anything but WebSocket, expectations other than 100-continue. Trailers of requests are dropped.
 */
export class ProxyServer {
  private readonly plane: DataPlane;
  private readonly server: Server;
  private readonly connections = new Set<ClientConnection | Http2Connection>();
  /** What is below TLS, also before its handshake is over. */
  private readonly sockets = new Set<Socket>();
  private readonly draining = new Drain(this.connections);

  constructor(options: ProxyOptions) {
    const settings = proxySettings(options);
    this.plane = new DataPlane(settings);
    this.server = settings.tls === undefined ? this.createServer(settings) : this.createTlsServer(settings, settings.tls);
    this.plane.watch(this.connections);
  }

  /**
   * @param port 0 for any free one
   * @param exclusive not shared with the other workers of this gateway
   * @returns the port that is listened on; rejects with the system's error, e.g. EADDRINUSE
   */
  listen(port: number, host?: string, { exclusive = false } = {}): Promise<number> {
    return new Promise((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen({ port, host, exclusive }, () => {
        this.server.off('error', reject);
        resolve((this.server.address() as AddressInfo).port);
      });
    });
  }

  /** Puts these routes in place of the present ones, for requests that begin from now on. */
  useRoutes(routes: Routing): void {
    this.plane.useRoutes(routes);
  }

  /** Whether there is a route of this name, be it one that only rules send requests to. */
  hasRoute(name: string): boolean {
    return this.plane.routes.named(name) !== undefined;
  }

  /** Serves on, but every answer from now on closes its connection. */
  drain(): void {
    this.plane.draining = true;
    this.draining.watch();
  }

  /**
   * Drains, closes connections as soon as they are quiet, and then accepts no more. What is still in flight after `graceMs`
   * is cut off. Resolves when all connections are closed.
   */
  async close(graceMs: number): Promise<void> {
    this.drain();
    this.plane.closing = true;
    for (const connection of this.connections) (connection as Drainable).closeTunnel?.();
    await this.draining.closeServer(this.server, graceMs, () => {
      for (const socket of this.sockets) socket.destroy();
    });
    // Node counts a connection out a moment before it says that it is closed, which is when its request ends.
    for (let turns = 0; turns < MOST_TURNS && this.connections.size > 0; turns++) await nextTurn();
    this.draining.end();
    // Ends the look for late headers, too.
    this.server.close(() => {});
    await this.plane.destroy();
  }

  /** Shows another certificate to clients from now on; connections that are there stay as they are. */
  renewTls(pair: PairOfFiles): void {
    const { tls } = this.plane.settings;
    if (tls !== undefined) (this.server as unknown as TlsServer).setSecureContext(secureContext(pair));
  }

  private createServer(settings: ProxySettings): Server {
    const server = createServer(httpOptions(settings));
    const speakHttp = takeOver(server, 'connection');
    server.on('connection', (socket: Socket) => {
      if (this.countIn(socket)) this.serveHttp1(new ClientConnection(this.plane, socket), speakHttp);
    });
    return this.withListeners(server, settings);
  }

  /** @param speakHttp how node's server begins a connection. On the fast lane it does only when something comes that is not plain. */
  private serveHttp1(connection: ClientConnection, speakHttp: (socket: Socket) => void): void {
    const { metrics, settings } = this.plane;
    const { socket } = connection;
    if (settings.fastLane) {
      // Behind node, as where node reads from the beginning: half a request is answered before nothing more is accepted.
      const leave = (): void => {
        socket.off('end', connection.clientEnded);
        speakHttp(socket);
        socket.on('end', connection.clientEnded);
      };
      new PlainConnection(socket, connection, settings, leave, metrics);
    } else speakHttp(socket);
    this.serve(connection);
  }

  private createTlsServer(settings: ProxySettings, tls: TlsOptions): Server {
    const server = createTlsServer(tls, httpOptions(settings), settings.clientHeadersTimeoutMs);
    const speakHttp = takeOver(server as unknown as Server, 'secureConnection');
    server.on('tlsClientError', () => this.plane.metrics.failedHandshakes++);
    // Before TLS, so that handshakes count.
    server.on('connection', (socket: Socket) => {
      this.sockets.add(socket);
      socket.on('close', () => this.sockets.delete(socket));
      this.countIn(socket);
    });
    server.on('secureConnection', (socket: TLSSocket) => {
      // No client needs it, and each one costs the gateway far more than the client.
      socket.disableRenegotiation();
      const certificate = shownCertificate(socket, tls);
      if (socket.alpnProtocol === 'h2') this.serveHttp2(socket, certificate, tls);
      else this.serveHttp1(new ClientConnection(this.plane, socket, certificate), speakHttp);
    });
    return this.withListeners(server as unknown as Server, settings);
  }

  private serveHttp2(socket: TLSSocket, certificate: ShownCertificate | null, tls: TlsOptions): void {
    const session = http2Session(socket, tls, this.plane.settings.maxHeaderBytes);
    const connection = new Http2Connection(this.plane, socket, session, certificate);
    this.connections.add(connection);
    socket.on('end', () => connection.clientEnded());
    socket.on('close', () => {
      this.connections.delete(connection);
      connection.closed();
    });
  }

  private withListeners(server: Server, settings: ProxySettings): Server {
    server.timeout = settings.clientIdleTimeoutMs;
    server.maxConnections = settings.maxConnections;
    // Bounded by bytes already. A limit by number makes node drop headers silently, perhaps the one with the identity.
    server.maxHeadersCount = 0;
    server.maxRequestsPerSocket = 0;
    // Clients that close their sending side after the last request are answered. Without it node ends the socket.
    (server as { httpAllowHalfOpen?: boolean }).httpAllowHalfOpen = true;
    server.on('request', (request, response) => this.accept(request, response, false));
    server.on('checkContinue', (request, response) => this.accept(request, response, true));
    server.on('checkExpectation', (request, response) => {
      this.accept(request, response, false, PROBLEMS.expectation);
    });
    server.on('connect', (_request, socket) => {
      // Node hands the socket over without a listener for its errors.
      socket.on('error', () => socket.destroy());
      (socket as ClientSocket)[CONNECTION]!.fail(PROBLEMS.connect);
    });
    if (settings.maxWebSockets > 0) {
      server.on('upgrade', (request, socket, head) => {
        // What has been read behind the handshake is read again, by whoever may.
        if (head.length > 0) socket.unshift(head);
        (socket as ClientSocket)[CONNECTION]!.upgrade(request);
      });
    }
    server.on('clientError', onClientError);
    return server;
  }

  /** False: its peer has its share of connections, and it is closed. */
  private countIn(socket: Socket): boolean {
    const peer = canonicalAddress(socket.remoteAddress ?? '');
    const trusted = this.plane.trusts(peer);
    if (!this.plane.peers.opened(peer, trusted)) {
      this.plane.shed('peer_connections', peer);
      socket.destroy();
      return false;
    }
    socket.on('close', () => this.plane.peers.closed(peer, trusted));
    return true;
  }

  private serve(connection: ClientConnection): void {
    const socket: ClientSocket = connection.socket;
    socket[CONNECTION] = connection;
    this.connections.add(connection);
    socket.on('end', connection.clientEnded);
    socket.on('close', () => {
      this.connections.delete(connection);
      connection.closed();
    });
  }

  private accept(request: IncomingMessage, response: ServerResponse, expectsContinue: boolean, problem?: Problem): void {
    (request.socket as ClientSocket)[CONNECTION]!.accept(request, response, expectsContinue, problem);
  }
}

/** The listener with which node's server begins a connection, in whose place somebody else decides when it does. */
function takeOver(server: Server, event: 'connection' | 'secureConnection'): (socket: Socket) => void {
  const [speakHttp] = server.listeners(event) as ((socket: Socket) => void)[];
  server.removeAllListeners(event);
  return (socket) => speakHttp!.call(server, socket);
}

function httpOptions(settings: ProxySettings): ServerOptions<typeof LeanRequest> {
  return {
    IncomingMessage: LeanRequest,
    connectionsCheckingInterval: Math.min(HEADERS_CHECK_MS, settings.clientHeadersTimeoutMs),
    headersTimeout: settings.clientHeadersTimeoutMs,
    // Uploads may take long, as long as they move: see `Pace`.
    requestTimeout: 0,
    keepAliveTimeout: settings.keepAliveTimeoutMs,
    maxHeaderSize: settings.maxHeaderBytes,
    noDelay: true,
    // Checked with the rest of the headers, and answered with a problem.
    requireHostHeader: false,
  };
}

/** What node's parser cannot make sense of, or what took too long to arrive. */
function onClientError(error: NodeJS.ErrnoException, stream: NodeJS.EventEmitter): void {
  const socket = stream as ClientSocket;
  // A handshake that failed has come to no connection yet.
  if (socket[CONNECTION] === undefined || error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const connection = socket[CONNECTION];
  // Something after a request that was the last by its own `Connection: close` deserves no answer of its own.
  if (error.code === 'HPE_CLOSED_CONNECTION') connection.stopAccepting();
  else if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') connection.failUnlessAsked(PROBLEMS.requestTimeout);
  else connection.fail(problemOf(error));
}

/** An error of node's parser; it says how far it came in which packet. */
interface ParserError extends NodeJS.ErrnoException {
  bytesParsed?: number;
  rawPacket?: Buffer;
}

function problemOf({ code, bytesParsed = 0, rawPacket }: ParserError): Problem {
  switch (code) {
    case 'HPE_INVALID_METHOD':
      return rawPacket !== undefined && isUnknownMethod(rawPacket, bytesParsed) ? PROBLEMS.methodNotAllowed : PROBLEMS.malformed;
    case 'HPE_INVALID_VERSION':
    case 'HPE_PAUSED_H2_UPGRADE':
      return PROBLEMS.httpVersion;
    case 'HPE_HEADER_OVERFLOW':
      return PROBLEMS.headersTooLarge;
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return PROBLEMS.chunkExtensions;
    default:
      return PROBLEMS.malformed;
  }
}

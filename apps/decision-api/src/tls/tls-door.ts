import type { Server as HttpServer, ServerOptions } from 'node:http';
import type { Server as NetServer } from 'node:net';
import { createServer, type Server as TlsServer, type TLSSocket } from 'node:tls';
import {
  createTlsServer,
  type PairOfFiles,
  secureContext,
  type ShownCertificate,
  shownCertificate,
  tlsServerOptions,
  type TlsServerOptions,
} from '#edge';
import { Handshakes, type HandshakesOptions } from './handshakes.js';

export interface TlsDoorOptions extends TlsServerOptions, HandshakesOptions {
  /** Until a caller has spoken TLS. */
  readonly handshakeTimeoutMs: number;
}

/** TLS for the servers of this app: one pair of files, and one count of handshakes. */
export class TlsDoor {
  readonly handshakes: Handshakes;
  private readonly servers: TlsServer[] = [];

  constructor(private readonly options: TlsDoorOptions) {
    this.handshakes = new Handshakes(options);
  }

  /** A server of HTTP/1.1. @param onSecured a caller has spoken TLS */
  httpServer(http: ServerOptions, onSecured: (socket: TLSSocket, shown: ShownCertificate | null) => void): HttpServer {
    const server = createTlsServer(this.options, ['http/1.1'], http, this.options.handshakeTimeoutMs);
    this.watch(server, onSecured);
    return server as unknown as HttpServer;
  }

  /** A server that hands on connections that have negotiated HTTP/2, and closes all others. */
  http2Listener(onSecured: (socket: TLSSocket, shown: ShownCertificate | null) => void): NetServer {
    const server = createServer({ ...tlsServerOptions(this.options, ['h2'], this.options.handshakeTimeoutMs), noDelay: true } as object);
    this.watch(server, (socket, shown) => {
      if (socket.alpnProtocol === 'h2') onSecured(socket, shown);
      else socket.destroy();
    });
    return server;
  }

  /** Shows another certificate to new connections; those that are there go on. */
  renew(pair: PairOfFiles): void {
    for (const server of this.servers) server.setSecureContext(secureContext(pair));
  }

  private watch(server: TlsServer, onSecured: (socket: TLSSocket, shown: ShownCertificate | null) => void): void {
    this.servers.push(server);
    this.handshakes.watch(server);
    server.on('secureConnection', (socket: TLSSocket) => {
      // Without a listener an error of the connection would be one of the process.
      socket.on('error', () => {});
      // No caller needs it, and each one costs this process far more than the caller.
      socket.disableRenegotiation();
      onSecured(socket, shownCertificate(socket, this.options));
    });
  }
}

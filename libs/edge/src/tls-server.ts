import type { X509Certificate } from 'node:crypto';
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https';
import type { ServerOptions } from 'node:http';
import type { SecureContextOptions, TLSSocket } from 'node:tls';

/** What a server shows of itself, and by whom clients are vouched for; PEM. */
export interface PairOfFiles {
  readonly cert: string;
  readonly key: string;
  /** The authorities that sign certificates of clients; undefined: clients are not asked for one. */
  readonly clientCa?: string | undefined;
}

export interface TlsServerOptions {
  readonly pair: PairOfFiles;
  /** Whether a client without a certificate that can be verified gets no connection. */
  readonly clientCertificate: 'optional' | 'required';
}

/** The certificate that a client has shown on its connection. */
export interface ShownCertificate {
  readonly certificate: X509Certificate;
  /** Whether an authority that we believe has signed it, and it was good when it was shown. */
  readonly verified: boolean;
}

/** Forward secrecy and authenticated encryption only, for TLS 1.2; those of TLS 1.3 all are. HTTP/2 forbids most others (RFC 9113, appendix A). */
const CIPHERS = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':');

/** What of a pair a server of TLS is renewed with. */
export function secureContext({ cert, key, clientCa }: PairOfFiles): SecureContextOptions {
  return { cert, key, minVersion: 'TLSv1.2', ciphers: CIPHERS, ...(clientCa !== undefined && { ca: clientCa }) };
}

/** What a server of TLS is created with. @param protocols that are negotiated by ALPN, the best one first */
export function tlsServerOptions({ pair, clientCertificate }: TlsServerOptions, protocols: readonly string[], handshakeTimeoutMs: number) {
  const asks = pair.clientCa !== undefined;
  return {
    ...secureContext(pair),
    ALPNProtocols: [...protocols],
    handshakeTimeout: handshakeTimeoutMs,
    requestCert: asks,
    rejectUnauthorized: asks && clientCertificate === 'required',
  };
}

/** A server of HTTP/1.1 behind TLS. @param protocols that are negotiated; what is not HTTP/1.1 is left to others */
export function createTlsServer(
  tls: TlsServerOptions,
  protocols: readonly string[],
  http: ServerOptions,
  handshakeTimeoutMs: number,
): HttpsServer {
  return createHttpsServer({
    ...(http as object),
    ...tlsServerOptions(tls, protocols, handshakeTimeoutMs),
    // As without TLS: a client that closes its sending side gets its answer.
    ...{ allowHalfOpen: true },
  });
}

/** What the client has shown of itself; null: nothing, or it was not asked. */
export function shownCertificate(socket: TLSSocket, { pair }: TlsServerOptions): ShownCertificate | null {
  if (pair.clientCa === undefined) return null;
  const certificate: X509Certificate | undefined = socket.getPeerX509Certificate();
  return certificate === undefined ? null : { certificate, verified: socket.authorized };
}

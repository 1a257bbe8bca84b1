import type { X509Certificate } from 'node:crypto';
import { performServerHandshake, type ServerHttp2Session } from 'node:http2';
import { createServer, type Server } from 'node:https';
import type { ServerOptions } from 'node:http';
import type { SecureContextOptions, TLSSocket } from 'node:tls';
import type { ShownCertificate } from './client-message.js';

export type TlsServer = Server;

/** What the gateway shows of itself, and by whom clients are vouched for; PEM. */
export interface PairOfFiles {
  readonly cert: string;
  readonly key: string;
  /** The authorities that sign certificates of clients; undefined: clients are not asked for one. */
  readonly clientCa?: string | undefined;
}

export interface TlsOptions {
  readonly pair: PairOfFiles;
  /** Whether a client without a certificate that can be verified gets no connection. */
  readonly clientCertificate: 'optional' | 'required';
  /** Whether HTTP/2 is offered. */
  readonly http2: boolean;
  /** Most streams that a connection of HTTP/2 has at once. */
  readonly maxStreams: number;
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

/** Megabytes that a connection of HTTP/2 may use, beyond which further streams are reset. */
const SESSION_MB = 4;
/** Frames that break the rules, and empty ones, over the life of a connection. */
const MOST_INVALID_FRAMES = 100;
/** nghttp2 counts as much for each header beside its bytes. */
const BYTES_PER_HEADER = 32;

export function secureContext({ cert, key, clientCa }: PairOfFiles): SecureContextOptions {
  return { cert, key, minVersion: 'TLSv1.2', ciphers: CIPHERS, ...(clientCa !== undefined && { ca: clientCa }) };
}

/** A server of HTTP/1.1 behind TLS, which negotiates HTTP/2 as well where that is offered, and leaves that to others. */
export function createTlsServer(tls: TlsOptions, http: ServerOptions, handshakeTimeoutMs: number): Server {
  const asks = tls.pair.clientCa !== undefined;
  return createServer({
    ...(http as object),
    ...secureContext(tls.pair),
    ALPNProtocols: tls.http2 ? ['h2', 'http/1.1'] : ['http/1.1'],
    handshakeTimeout: handshakeTimeoutMs,
    requestCert: asks,
    rejectUnauthorized: asks && tls.clientCertificate === 'required',
    // As without TLS: a client that closes its sending side gets its answer.
    ...{ allowHalfOpen: true },
  });
}

/** What the client has shown of itself; null: nothing, or it was not asked. */
export function shownCertificate(socket: TLSSocket, { pair }: TlsOptions): ShownCertificate | null {
  if (pair.clientCa === undefined) return null;
  const certificate: X509Certificate | undefined = socket.getPeerX509Certificate();
  return certificate === undefined ? null : { certificate, verified: socket.authorized };
}

/** Speaks HTTP/2 on a connection that has negotiated it. */
export function http2Session(socket: TLSSocket, { maxStreams }: TlsOptions, maxHeaderBytes: number): ServerHttp2Session {
  return performServerHandshake(socket, {
    maxSessionMemory: SESSION_MB,
    maxSessionInvalidFrames: MOST_INVALID_FRAMES,
    maxHeaderListPairs: Math.ceil(maxHeaderBytes / BYTES_PER_HEADER),
    settings: { maxConcurrentStreams: maxStreams, maxHeaderListSize: maxHeaderBytes },
  });
}

import { performServerHandshake, type ServerHttp2Session } from 'node:http2';
import type { Server } from 'node:https';
import type { ServerOptions } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { createTlsServer as createServer, type TlsServerOptions } from '#edge';

export type TlsServer = Server;

export interface TlsOptions extends TlsServerOptions {
  /** Whether HTTP/2 is offered. */
  readonly http2: boolean;
  /** Most streams that a connection of HTTP/2 has at once. */
  readonly maxStreams: number;
}

/** Megabytes that a connection of HTTP/2 may use, beyond which further streams are reset. */
const SESSION_MB = 4;
/** Frames that break the rules, and empty ones, over the life of a connection. */
const MOST_INVALID_FRAMES = 100;
/** nghttp2 counts as much for each header beside its bytes. */
const BYTES_PER_HEADER = 32;

/** A server of HTTP/1.1 behind TLS, which negotiates HTTP/2 as well where that is offered, and leaves that to others. */
export function createTlsServer(tls: TlsOptions, http: ServerOptions, handshakeTimeoutMs: number): Server {
  return createServer(tls, tls.http2 ? ['h2', 'http/1.1'] : ['http/1.1'], http, handshakeTimeoutMs);
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

import { once } from 'node:events';
import { type ClientHttp2Session, connect as connectHttp2, type ClientHttp2Stream, constants, type OutgoingHttpHeaders } from 'node:http2';
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from 'node:tls';
import type { ProxyOptions, TlsOptions } from '../../../apps/gateway/src/proxy/index.js';
import { makeCertificate, type MadeCertificate } from '../../support/certificates.js';
import { FrameType, PREFACE, readFrames, type ReceivedFrame, settings } from '../../support/http2-frames.js';
import { until } from '../../support/until.js';
import { type RunningProxy, startProxy } from './proxy-harness.js';

/** What the gateway of these tests shows to clients. */
export const SERVER = makeCertificate({ commonNames: ['localhost'], dnsNames: ['localhost'] });

const opened: { destroy(): unknown }[] = [];

/** Ends the connections of a test; to be called after each. */
export function closeClients(): void {
  for (const each of opened.splice(0)) each.destroy();
}

export function startTlsProxy(upstream: URL, tls: Partial<TlsOptions> = {}, options: Partial<ProxyOptions> = {}): Promise<RunningProxy> {
  const { cert, key } = SERVER;
  return startProxy(upstream, {
    tls: { pair: { cert, key }, clientCertificate: 'optional', http2: true, maxStreams: 100, ...tls },
    ...options,
  });
}

/** A connection that speaks TLS and, if it is asked for, a protocol that was negotiated. */
export async function openTls(port: number, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connectTls({ port, host: '127.0.0.1', servername: 'localhost', ca: SERVER.cert, ...options });
  opened.push(socket);
  socket.on('error', () => {});
  await once(socket, 'secureConnect');
  return socket;
}

/** Node's own client of HTTP/2. */
export async function openHttp2(port: number, shows?: MadeCertificate): Promise<ClientHttp2Session> {
  const session = connectHttp2(`https://localhost:${port}`, {
    ca: SERVER.cert,
    ...(shows !== undefined && { cert: shows.cert, key: shows.key }),
    lookup: (_host, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }] as never),
  });
  opened.push(session);
  session.on('error', () => {});
  await once(session, 'connect');
  return session;
}

export interface Http2Answer {
  readonly status: number;
  readonly headers: Record<string, unknown>;
  readonly body: string;
  readonly trailers: Record<string, unknown>;
}

/** One request, and its whole answer; rejects if the stream is reset. */
export async function ask(session: ClientHttp2Session, headers: OutgoingHttpHeaders = {}, body?: string | Buffer): Promise<Http2Answer> {
  const stream = session.request({ ':path': '/', ...headers }, { endStream: body === undefined });
  if (body !== undefined) stream.end(body);
  return answerOf(stream);
}

export async function answerOf(stream: ClientHttp2Stream): Promise<Http2Answer> {
  let trailers: Record<string, unknown> = {};
  stream.on('trailers', (received) => (trailers = received));
  const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
  stream.setEncoding('utf8');
  let text = '';
  for await (const chunk of stream) text += chunk;
  return { status: headers[':status'] as number, headers, body: text, trailers };
}

/** A connection of HTTP/2 on which a test writes frames, be they allowed or not, and looks at those that come back. */
export class FrameClient {
  readonly frames: ReceivedFrame[] = [];
  closed = false;
  private rest = Buffer.alloc(0);

  private constructor(readonly socket: TLSSocket) {
    socket.on('data', (chunk: Buffer) => {
      const { frames, rest } = readFrames(Buffer.concat([this.rest, chunk]));
      this.frames.push(...frames);
      this.rest = Buffer.from(rest);
    });
    socket.on('close', () => (this.closed = true));
  }

  static async open(port: number): Promise<FrameClient> {
    const client = new FrameClient(await openTls(port, { ALPNProtocols: ['h2'] }));
    client.write(PREFACE, settings());
    await until(() => client.frames.some(({ type }) => type === FrameType.settings));
    return client;
  }

  write(...frames: readonly Buffer[]): this {
    if (!this.socket.destroyed) this.socket.write(Buffer.concat(frames));
    return this;
  }

  /** The error codes of the frames of a type, on a stream: 0 is the connection. */
  codes(type: number, streamId?: number): number[] {
    return this.frames
      .filter((each) => each.type === type && (streamId === undefined || each.streamId === streamId))
      .map(({ payload }) => payload.readUInt32BE(type === FrameType.goaway ? 4 : 0));
  }
}

export const {
  NGHTTP2_ENHANCE_YOUR_CALM: CALM,
  NGHTTP2_INTERNAL_ERROR: INTERNAL_ERROR,
  NGHTTP2_PROTOCOL_ERROR: PROTOCOL_ERROR,
} = constants;

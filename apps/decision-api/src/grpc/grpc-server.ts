import type { Http2Session, IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { type AddressInfo, createServer, type Server as NetServer, type Socket } from 'node:net';
import { type handleUnaryCall, Server, ServerCredentials, type UntypedServiceImplementation } from '@grpc/grpc-js';
import type { ServiceDefinition } from '@grpc/proto-loader';
import { createRequestIds, isRequestId, type ShownCertificate } from '#edge';
import { canonicalAddress } from '#addresses';
import type { Logger } from '#platform';
import { tooManyCalls } from '../problems.js';
import type { TlsDoor } from '../tls/tls-door.js';
import { StrictReader } from './strict-reader.js';
import { streamsOf } from './http2-streams.js';
import { type CallConnection, isPlainCall, type KnownCaller, timeoutMs, UnaryCall, type UnaryMethod } from './unary-call.js';
import { GrpcCode, GrpcError, grpcErrorOf, httpStatusOf } from './grpc-error.js';
import { type DuplexStream, fail, serveStream, statusOf } from './served-stream.js';

/** A call, whatever carries it. */
export interface GrpcCall {
  /** The caller's own, if it was valid, otherwise generated; harmless characters only. */
  readonly requestId: string;
  /** The name of the caller. */
  readonly caller: string;
  /** Remote address of the connection, in canonical text. */
  readonly peer: string;
  /** Whether nobody waits for the answer any more: the caller has left, or its deadline has passed. */
  readonly isOver: () => boolean;
}

/** What the carrier of a call knows of it. */
interface CarriedCall {
  readonly cancelled: boolean;
  readonly metadata: { readonly get: (name: string) => readonly (string | Buffer)[] };
  getPeer(): string;
  getDeadline(): Date | number;
  /** If calls of one connection know of each other. */
  readonly connection?: CallConnection | undefined;
}

/** Answers a message by a message, or throws what `grpcErrorOf` knows. */
export type Handler<Q extends object = never> = (request: Q, call: GrpcCall) => Promise<object>;

/** By the names of a service's methods. */
export interface Handlers {
  readonly unary?: Readonly<Record<string, Handler>>;
  /** How answers are written, where there is a quicker way than that for all messages. */
  readonly writers?: Readonly<Record<string, (message: object) => Uint8Array>>;
  /** Each message of a stream is answered on its own, in any order. */
  readonly streams?: Readonly<Record<string, Handler>>;
}

export interface GrpcServerOptions {
  readonly logger: Pick<Logger, 'error'>;
  /** Told of every call and every message of a stream, with the HTTP status that stands for its answer. */
  readonly counts: { count(call: string, status: number): void };
  /** Who makes a call. @param header of the call, by its name in lower case @param shown on its connection @throws ProblemError */
  readonly callerOf: (header: (name: string) => string | undefined, peer: string, shown: ShownCertificate | null) => string;
  /** Calls begun and not answered, messages of streams included; further ones are refused. */
  readonly maxInFlight: number;
  readonly maxConnections: number;
  /** Undefined: calls come without TLS. */
  readonly tls?: TlsDoor | undefined;
  /** As said below unless given. */
  readonly silence?: ConnectionSilence | undefined;
}

/** How long connections may be silent. Milliseconds. */
export interface ConnectionSilence {
  /** A connection is asked so often whether somebody is there. */
  readonly askEveryMs: number;
  /** How long the answer to that may take. */
  readonly answerWithinMs: number;
  /** A connection without calls is ended. */
  readonly idleMs: number;
}

/** The body of a request is 64 KiB of it at most, and headers as much as a proxy lets through. */
export const MOST_MESSAGE_BYTES = 256 * 1024;
const MOST_STREAMS_OF_A_CONNECTION = 256;
const SILENCE: ConnectionSilence = { askEveryMs: 30_000, answerWithinMs: 20_000, idleMs: 300_000 };

/**
 * The transport of gRPC, bounded in connections, streams, messages and calls under way, which ends in order. Nobody else knows what carries the calls.
 */
export class GrpcServer {
  private readonly server: Server;
  private readonly injector: ReturnType<Server['createConnectionInjector']>;
  private readonly listener: NetServer;
  private readonly sockets = new Set<Socket>();
  /** What was shown on connections, by their address and port: a call knows no more of its own. */
  private readonly shown = new Map<string, ShownCertificate>();
  private readonly nextRequestId = createRequestIds();
  private readonly streams = new Set<DuplexStream>();
  private readonly unaryMethods = new Map<string, UnaryMethod>();
  private readonly connections = new WeakMap<Http2Session, CallConnection>();
  private inFlight = 0;

  constructor(private readonly options: GrpcServerOptions) {
    const { silence = SILENCE } = options;
    this.server = new Server({
      'grpc.max_receive_message_length': MOST_MESSAGE_BYTES,
      'grpc.max_concurrent_streams': MOST_STREAMS_OF_A_CONNECTION,
      'grpc.keepalive_time_ms': silence.askEveryMs,
      'grpc.keepalive_timeout_ms': silence.answerWithinMs,
      'grpc.max_connection_idle_ms': silence.idleMs,
      'grpc.enable_channelz': 0,
    });
    const streams = streamsOf(this.server, () => this.server.createConnectionInjector(ServerCredentials.createInsecure()));
    this.injector = streams.injector;
    streams.take((stream, headers) => this.takes(stream, headers));
    this.listener =
      options.tls?.http2Listener((socket, shown) => this.connected(socket, shown)) ??
      createServer({ noDelay: true }, (socket) => this.connected(socket, null));
    this.listener.maxConnections = options.maxConnections;
  }

  /** Has to come before `listen`. */
  add(service: ServiceDefinition, { unary = {}, streams = {}, writers = {} }: Handlers): void {
    const implementation: UntypedServiceImplementation = {};
    const strict = strictly(service);
    for (const [name, handler] of Object.entries(unary)) {
      const { path, requestDeserialize: read, responseSerialize } = strict[name]!;
      const answer = this.answerOf(path, handler as Handler<object>);
      implementation[name] = this.unary(answer);
      this.unaryMethods.set(path, { read, write: writers[name] ?? responseSerialize, answer });
    }
    for (const [name, handler] of Object.entries(streams))
      implementation[name] = (stream: DuplexStream) => void this.serveStream(stream, service[name]!.path, handler as Handler<object>);
    this.server.addService(strict, implementation);
  }

  /** For services that bring their own answers: health and reflection. */
  get services(): Pick<Server, 'addService'> {
    return this.server;
  }

  /** @param port 0 for any free one. Answers which; rejects with the system's error, e.g. EADDRINUSE */
  listen(port: number, host: string): Promise<number> {
    return new Promise((resolve, reject) => {
      this.listener.once('error', reject);
      this.listener.listen({ port, host }, () => {
        this.listener.off('error', reject);
        resolve((this.listener.address() as AddressInfo).port);
      });
    });
  }

  /** Takes no further connections, tells those that there are to go elsewhere, and cuts what is still there after `graceMs`. Resolves when all are closed. */
  async close(graceMs: number): Promise<void> {
    const closed = new Promise<void>((resolve) => (this.listener.listening ? this.listener.close(() => resolve()) : resolve()));
    for (const stream of this.streams)
      fail(stream, new GrpcError(GrpcCode.Unavailable, 'this process ends: ask another one', 'decision_api.draining'));
    this.injector.drain(graceMs);
    const cut = setTimeout(() => {
      this.options.tls?.handshakes.cut();
      this.sockets.forEach((socket) => socket.destroy());
    }, graceMs);
    await closed;
    clearTimeout(cut);
    this.injector.destroy();
    this.server.forceShutdown();
  }

  private connected(socket: Socket, shown: ShownCertificate | null): void {
    this.sockets.add(socket);
    const name = `${socket.remoteAddress}:${socket.remotePort}`;
    if (shown !== null) this.shown.set(name, shown);
    socket.on('close', () => {
      this.sockets.delete(socket);
      this.shown.delete(name);
    });
    // Errors end the connection, which is all that there is to do.
    socket.on('error', () => {});
    this.injector.injectConnection(socket);
  }

  /** Takes the streams of plain unary calls, which cost half as much without grpc-js. All others are its own. */
  private takes(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): boolean {
    const method = this.unaryMethods.get(headers[':path'] as string);
    if (method === undefined || !isPlainCall(headers)) return false;
    const withinMs = timeoutMs(headers['grpc-timeout'] as string | undefined);
    if (withinMs === undefined) return false;
    new UnaryCall(stream, headers, { method, connection: this.connectionOf(stream), withinMs, mostBytes: MOST_MESSAGE_BYTES });
    return true;
  }

  private connectionOf({ session }: ServerHttp2Stream): CallConnection {
    let connection = this.connections.get(session!);
    if (connection === undefined) {
      const { remoteAddress, remotePort } = session!.socket;
      this.connections.set(session!, (connection = { peer: `${remoteAddress}:${remotePort}`, known: undefined }));
    }
    return connection;
  }

  private answerOf(name: string, handler: Handler<object>): (request: object, call: CarriedCall) => Promise<object> {
    return (request, call) =>
      this.counted(name, () => {
        const known = this.knownCall(call);
        if (!known.isOver()) return handler(request as never, known);
        throw new GrpcError(GrpcCode.DeadlineExceeded, 'the deadline had passed before anything was decided', 'deadline.passed');
      });
  }

  private unary(answer: (request: object, call: CarriedCall) => Promise<object>): handleUnaryCall<object, object> {
    return (call, callback) =>
      void answer(call.request, call).then(
        (message) => callback(null, message),
        (error: GrpcError) => callback(statusOf(error)),
      );
  }

  private async serveStream(stream: DuplexStream, name: string, handler: Handler<object>): Promise<void> {
    this.streams.add(stream);
    const begin = () => {
      const call = this.knownCall(stream);
      return (request: object) => this.counted(name, () => handler(request as never, call));
    };
    await serveStream(stream, begin, this.options.logger);
    this.streams.delete(stream);
  }

  /** Rejects with nothing but a GrpcError. */
  private async counted(name: string, handle: () => Promise<object>): Promise<object> {
    const { counts, logger, maxInFlight } = this.options;
    const isFull = this.inFlight >= maxInFlight;
    this.inFlight++;
    try {
      if (isFull) throw tooManyCalls();
      const message = await handle();
      counts.count(name, 200);
      return message;
    } catch (error) {
      const known = grpcErrorOf(error, logger);
      counts.count(name, httpStatusOf(known.code));
      throw known;
    } finally {
      this.inFlight--;
    }
  }

  private knownCall(call: CarriedCall): GrpcCall {
    const header = (name: string): string | undefined => call.metadata.get(name)[0]?.toString();
    const known = this.knownCaller(call, header);
    const sent = header('x-request-id');
    const deadline = call.getDeadline();
    const deadlineMs = deadline instanceof Date ? deadline.getTime() : deadline;
    return {
      requestId: sent !== undefined && isRequestId(sent) ? sent : this.nextRequestId(),
      caller: known.caller,
      peer: known.peer,
      isOver: () => call.cancelled || Date.now() >= deadlineMs,
    };
  }

  /** The same credentials on the same connection are not looked at twice. @throws ProblemError */
  private knownCaller(call: CarriedCall, header: (name: string) => string | undefined): KnownCaller {
    const { connection } = call;
    const [authorization, token] = [header('authorization'), header('x-tollgate-token')];
    const before = connection?.known;
    if (before !== undefined && before.authorization === authorization && before.token === token) return before;
    const address = call.getPeer();
    const shown = this.shown.get(address) ?? null;
    const port = address.lastIndexOf(':');
    const peer = canonicalAddress(port === -1 ? address : address.slice(0, port));
    const known = { authorization, token, peer, caller: this.options.callerOf(header, peer, shown) };
    // A certificate is looked at each time: it may end while the connection goes on.
    if (connection !== undefined && shown === null) connection.known = known;
    return known;
  }
}

/** The same service, which reads its messages to the letter. */
function strictly(service: ServiceDefinition): ServiceDefinition {
  const methods = Object.entries(service).map(([name, method]) => {
    const { requestDeserialize } = method;
    // Whatever is no reader yet would be put into one.
    return [name, { ...method, requestDeserialize: (bytes: Buffer) => requestDeserialize(new StrictReader(bytes) as unknown as Buffer) }];
  });
  return Object.fromEntries(methods) as ServiceDefinition;
}

import { type AddressInfo, createServer, type Server as NetServer, type Socket } from 'node:net';
import type { Server } from '@grpc/grpc-js';
import type { ServiceDefinition } from '@grpc/proto-loader';
import { createRequestIds, isRequestId, type ShownCertificate } from '#edge';
import { canonicalAddress } from '#addresses';
import type { Logger } from '#platform';
import type { BodyBudget } from '../http/request-body.js';
import { Http2Connection, MOST_HEADER_BYTES } from '../http2/http2-connection.js';
import type { Http2Stream, StreamUser } from '../http2/http2-stream.js';
import type { ConnectionSilence } from '../http2/silence.js';
import { tooManyCalls } from '../problems.js';
import type { TlsDoor } from '../tls/tls-door.js';
import { type CallHead, callHead } from './call-head.js';
import { addForeignService } from './foreign-service.js';
import { httpRefusalBlock, refusalBlock } from './grpc-blocks.js';
import { GrpcCode, GrpcError, grpcErrorOf, httpStatusOf } from './grpc-error.js';
import { StreamedCall, type StreamHandler, type StreamMethod } from './streamed-call.js';
import { StrictReader } from './strict-reader.js';
import { type Answered, type CallerConnection, UnaryCall, type UnaryMethod } from './unary-call.js';

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

/** Answers a message by a message, or throws what `grpcErrorOf` knows. */
export type Handler<Q extends object = never> = (request: Q, call: GrpcCall) => Promise<object>;

/** The same for calls that are made very often, without a promise: calls back once, perhaps before it returns. */
export type QuickHandler<Q extends object = never> = (request: Q, call: GrpcCall, answered: (outcome: object | Error) => void) => void;

/** By the names of a service's methods. */
export interface Handlers {
  readonly unary?: Readonly<Record<string, Handler>>;
  readonly quick?: Readonly<Record<string, QuickHandler>>;
  /** How requests are read, where there is a quicker way than that for all messages. It answers undefined for those that it leaves to that one. */
  readonly readers?: Readonly<Record<string, (bytes: Buffer) => object | undefined>>;
  /** How answers are written, likewise. */
  readonly writers?: Readonly<Record<string, (message: object) => Uint8Array>>;
  /** Each message of a stream is answered on its own, in any order. */
  readonly streams?: Readonly<Record<string, Handler>>;
}

export interface GrpcServerOptions {
  readonly logger: Pick<Logger, 'error'>;
  /** Told of every call and every message of a stream, with the HTTP status that stands for its answer. */
  readonly counts: { count(call: string, status: number): void };
  /** Who makes a call. @param headers that may name it @param shown on its connection @throws ProblemError */
  readonly callerOf: (headers: Readonly<Record<string, string | undefined>>, peer: string, shown: ShownCertificate | null) => string;
  /** Calls begun and not answered, messages of streams included; further ones are refused. */
  readonly maxInFlight: number;
  readonly maxConnections: number;
  /** Of messages that are not whole, all calls together. */
  readonly budget: BodyBudget;
  /** Undefined: calls come without TLS. */
  readonly tls?: TlsDoor | undefined;
  /** As said below unless given. */
  readonly silence?: ConnectionSilence | undefined;
}

/** The body of a request is 64 KiB of it at most, and headers as much as a proxy lets through. */
const MOST_MESSAGE_BYTES = 256 * 1024;
const MOST_STREAMS_OF_A_CONNECTION = 256;
/** A whole message, and as much again as may wait to be credited. */
const STREAM_WINDOW = 3 * MOST_MESSAGE_BYTES;
const SILENCE: ConnectionSilence = { askEveryMs: 30_000, answerWithinMs: 20_000, idleMs: 300_000 };

type Done = (outcome: object | Error) => void;

/** A call of either kind, once its head has been read. */
type CarriedCall = Pick<UnaryCall, 'head' | 'connection' | 'isOver'>;

interface KnownConnection extends CallerConnection {
  readonly shown: ShownCertificate | null;
}

/** The transport of gRPC, bounded in connections, streams, messages, bytes and calls under way, which ends in order. Nobody else knows what carries the calls. */
export class GrpcServer {
  private readonly listener: NetServer;
  private readonly connections = new Map<Socket, Http2Connection<CallHead>>();
  private readonly nextRequestId = createRequestIds();
  private readonly unaryMethods = new Map<string, UnaryMethod>();
  private readonly streamMethods = new Map<string, StreamMethod>();
  private readonly streams = new Set<StreamedCall>();
  private inFlight = 0;

  constructor(private readonly options: GrpcServerOptions) {
    this.listener =
      options.tls?.http2Listener((socket, shown) => this.connected(socket, shown)) ??
      createServer({ noDelay: true }, (socket) => this.connected(socket, null));
    this.listener.maxConnections = options.maxConnections;
  }

  /** Has to come before `listen`. */
  add(service: ServiceDefinition, { unary = {}, quick = {}, streams = {}, readers = {}, writers = {} }: Handlers): void {
    const unaryMethod = (name: string, begin: QuickHandler<object>): void => {
      const { path, requestDeserialize, responseSerialize } = service[name]!;
      const answer: UnaryMethod['answer'] = (request, call, answered) =>
        this.counted(path, (done) => begin(request as never, this.demandTime(this.knownCall(call)), done), answered);
      this.unaryMethods.set(path, { read: strictly(requestDeserialize, readers[name]), write: writers[name] ?? responseSerialize, answer });
    };
    for (const [name, handler] of Object.entries(quick)) unaryMethod(name, handler as QuickHandler<object>);
    for (const [name, handler] of Object.entries(unary))
      unaryMethod(name, (request, call, answered) => void handler(request as never, call).then(answered, answered));
    for (const [name, handler] of Object.entries(streams)) {
      const { path, requestDeserialize, responseSerialize: write } = service[name]!;
      const open = (stream: StreamedCall): StreamHandler => {
        const call = this.knownCall(stream);
        const message = (request: object): Promise<object> =>
          new Promise((resolve, reject) => {
            const begin = (done: Done): void => void handler(request as never, this.demandTime(call)).then(done, done);
            this.counted(path, begin, (outcome) => (outcome instanceof GrpcError ? reject(outcome) : resolve(outcome)));
          });
        return { message };
      };
      this.streamMethods.set(path, { read: strictly(requestDeserialize), write, open });
    }
  }

  /** For services that bring their own answers: health and reflection. They are not counted. */
  get services(): Pick<Server, 'addService'> {
    const methods = {
      unary: (path: string, method: UnaryMethod) => void this.unaryMethods.set(path, method),
      stream: (path: string, method: StreamMethod) => void this.streamMethods.set(path, method),
    };
    return { addService: (service, implementation) => addForeignService(methods, service as ServiceDefinition, implementation) };
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
      stream.leave(new GrpcError(GrpcCode.Unavailable, 'this process ends: ask another one', 'decision_api.draining'));
    for (const connection of this.connections.values()) connection.leave();
    const cut = setTimeout(() => {
      this.options.tls?.handshakes.cut();
      for (const socket of this.connections.keys()) socket.destroy();
    }, graceMs);
    await closed;
    clearTimeout(cut);
  }

  private connected(socket: Socket, shown: ShownCertificate | null): void {
    const peer = canonicalAddress(socket.remoteAddress ?? '');
    const known: KnownConnection = { peer, shown, known: undefined };
    const connection = new Http2Connection(socket, {
      headOf: callHead,
      open: (stream, head) => this.opened(stream, head, known),
      headersTooLarge: HEADERS_TOO_LARGE,
      held: this.options.budget,
      mostStreams: MOST_STREAMS_OF_A_CONNECTION,
      streamWindow: STREAM_WINDOW,
      silence: this.options.silence ?? SILENCE,
      failed: (err) => this.options.logger.error({ err }, 'a connection failed'),
    });
    this.connections.set(socket, connection);
    socket.on('close', () => this.connections.delete(socket));
  }

  private opened(stream: Http2Stream, head: CallHead, connection: KnownConnection): StreamUser | undefined {
    const { refusal, path, withinMs } = head;
    if (refusal !== undefined) return refused(stream, httpRefusalBlock(refusal));
    const [unary, streamed] = [this.unaryMethods.get(path), this.streamMethods.get(path)];
    if (unary === undefined && streamed === undefined) return refused(stream, refusalBlock(NO_METHOD));
    if (withinMs === undefined) return refused(stream, refusalBlock(NO_DEADLINE));
    const { budget, logger } = this.options;
    const errorOf = (error: unknown): GrpcError => grpcErrorOf(error, logger);
    const common = { head, withinMs, connection, mostBytes: MOST_MESSAGE_BYTES, budget, errorOf };
    if (unary !== undefined) return new UnaryCall(stream, { ...common, method: unary });
    const call = new StreamedCall(stream, { ...common, method: streamed!, closed: () => this.streams.delete(call) });
    this.streams.add(call);
    call.open();
    return call;
  }

  /** Calls back once, perhaps before it returns. */
  private counted(name: string, begin: (done: Done) => void, answered: Answered): void {
    const { counts, logger, maxInFlight } = this.options;
    const isFull = this.inFlight >= maxInFlight;
    let isOver = false;
    this.inFlight++;
    const done: Done = (outcome) => {
      if (isOver) return;
      isOver = true;
      this.inFlight--;
      const told = outcome instanceof Error ? grpcErrorOf(outcome, logger) : outcome;
      counts.count(name, told instanceof GrpcError ? httpStatusOf(told.code) : 200);
      answered(told);
    };
    try {
      if (isFull) throw tooManyCalls();
      begin(done);
    } catch (error) {
      done(error as Error);
    }
  }

  /** @throws GrpcError */
  private demandTime(call: GrpcCall): GrpcCall {
    if (!call.isOver()) return call;
    throw new GrpcError(GrpcCode.DeadlineExceeded, 'the deadline had passed before anything was decided', 'deadline.passed');
  }

  private knownCall({ head, connection, isOver }: CarriedCall): GrpcCall {
    const { requestId } = head;
    return {
      requestId: requestId !== undefined && isRequestId(requestId) ? requestId : this.nextRequestId(),
      caller: this.callerOf(head, connection as KnownConnection),
      peer: connection.peer,
      isOver,
    };
  }

  /** The same credentials on the same connection are not looked at twice. @throws ProblemError */
  private callerOf(head: CallHead, connection: KnownConnection): string {
    const { known, shown, peer } = connection;
    if (known !== undefined && known.authorization === head.authorization && known.token === head.token) return known.caller;
    const { authorization, token } = head;
    const caller = this.options.callerOf({ authorization, 'x-tollgate-token': token }, peer, shown);
    // A certificate is looked at each time: it may end while the connection goes on.
    if (shown === null) connection.known = { authorization, token, caller };
    return caller;
  }
}

const NO_METHOD = new GrpcError(GrpcCode.Unimplemented, 'there is no such method', 'method.unknown');
const NO_DEADLINE = new GrpcError(GrpcCode.Internal, 'grpc-timeout cannot be read', 'deadline.malformed');

/** What the mapping of HTTP/2 codes would make of ENHANCE_YOUR_CALM, with words. */
const HEADERS_TOO_LARGE = refusalBlock(
  new GrpcError(GrpcCode.ResourceExhausted, `the headers are larger than ${MOST_HEADER_BYTES} bytes`, 'headers.too_large'),
);

function refused(stream: Http2Stream, block: Buffer): undefined {
  stream.refuse(block);
}

/** Reads messages to the letter. */
function strictly(
  read: (bytes: Buffer) => object,
  quick: (bytes: Buffer) => object | undefined = () => undefined,
): (bytes: Buffer) => object {
  // Whatever is no reader yet would be put into one.
  return (bytes) => quick(bytes) ?? read(new StrictReader(bytes) as unknown as Buffer);
}

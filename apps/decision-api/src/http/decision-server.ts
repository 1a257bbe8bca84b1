import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { createRequestIds, Drain, isRequestId, type ShownCertificate } from '#edge';
import { canonicalAddress } from '#addresses';
import { demandKnownVersion, type Logger, ProblemError } from '#platform';
import type { Callers } from '../callers/callers.js';
import type { TlsDoor } from '../tls/tls-door.js';
import { type Answer, problemAnswer, sendAnswer } from './answer.js';
import { type Call, routeName, type Routes } from './call.js';
import type { CallCounts } from './call-counts.js';
import { CallerConnection } from './caller-connection.js';
import { tooManyCalls } from '../problems.js';
import { answerOfError } from './errors.js';
import { PlainCalls } from './plain-calls.js';
import { PlainConnection } from './plain-connection.js';
import { BodyBudget, readBytes, readJsonObject } from './request-body.js';

export interface DecisionServerOptions {
  readonly routes: Routes;
  readonly callers: Callers;
  readonly counts: CallCounts;
  readonly logger: Pick<Logger, 'error'>;
  /** Calls begun and not answered; further ones are answered with 503. */
  readonly maxInFlight: number;
  readonly maxConnections: number;
  /** Of bodies in memory, of all calls together. */
  readonly maxBufferedBytes: number;
  /** Until a caller has sent the headers of a call. */
  readonly headersTimeoutMs: number;
  /** Until it has sent all of it. */
  readonly requestTimeoutMs: number;
  /** The longest that an answer may take, beyond which a silent connection is closed. */
  readonly longestAnswerMs: number;
  /** Undefined: calls come without TLS. */
  readonly tls?: TlsDoor | undefined;
}

const KEEP_ALIVE_MS = 65_000;
const TIMEOUTS_CHECKED_EVERY_MS = 1_000;
const MOST_HEADER_BYTES = 16 * 1024;

/** The data plane: a plain HTTP/1.1 server, bounded in everything, that ends in order. */
export class DecisionServer {
  private readonly server: Server;
  private readonly connections = new Set<CallerConnection>();
  private readonly ofSocket = new WeakMap<Socket, CallerConnection>();
  private readonly draining = new Drain(this.connections);
  private readonly budget: BodyBudget;
  private readonly nextRequestId = createRequestIds();
  private readonly plainCalls: PlainCalls;
  private isDraining = false;

  constructor(private readonly options: DecisionServerOptions) {
    this.budget = new BodyBudget(options.maxBufferedBytes);
    const { nextRequestId, budget } = this;
    this.plainCalls = new PlainCalls({ ...options, budget, nextRequestId, keepAliveMs: KEEP_ALIVE_MS, isDraining: () => this.isDraining });
    this.server = this.createServer();
  }

  /** @param port 0 for any free one. Answers which; rejects with the system's error, e.g. EADDRINUSE */
  listen(port: number, host: string): Promise<number> {
    return new Promise((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen({ port, host }, () => {
        this.server.off('error', reject);
        resolve((this.server.address() as AddressInfo).port);
      });
    });
  }

  /** Serves on, but every answer from now on closes its connection. */
  drain(): void {
    this.isDraining = true;
    this.draining.watch();
  }

  /** Drains, closes connections as soon as they are quiet, and cuts off what is still there after `graceMs`. Resolves when all are closed. */
  async close(graceMs: number): Promise<void> {
    this.drain();
    await this.draining.closeServer(this.server, graceMs, () => this.options.tls?.handshakes.cut());
    this.draining.end();
    // Ends the look for late requests, too.
    this.server.close(() => {});
  }

  private createServer(): Server {
    const { headersTimeoutMs, requestTimeoutMs, longestAnswerMs, maxConnections, tls } = this.options;
    const http = {
      headersTimeout: headersTimeoutMs,
      requestTimeout: requestTimeoutMs,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: TIMEOUTS_CHECKED_EVERY_MS,
      maxHeaderSize: MOST_HEADER_BYTES,
      noDelay: true,
    };
    const server = tls?.httpServer(http, (socket, shown) => this.connected(socket, shown)) ?? createServer(http);
    server.timeout = longestAnswerMs + requestTimeoutMs;
    server.maxConnections = maxConnections;
    // Bounded by bytes already. A limit by number makes node drop headers silently, perhaps the one with the identity.
    server.maxHeadersCount = 0;
    // Callers that close their sending side after a call are answered.
    (server as { httpAllowHalfOpen?: boolean }).httpAllowHalfOpen = true;
    if (tls === undefined) this.readPlainly(server);
    server.on('request', (request, response) => void this.serve(request, response));
    server.on('clientError', onClientError);
    return server;
  }

  /** Connections begin as sockets, whose plain requests are answered without node's streams. Those of TLS begin as connections of node:http. */
  private readPlainly(server: Server): void {
    const [speakHttp] = server.listeners('connection') as ((socket: Socket) => void)[];
    server.removeAllListeners('connection');
    server.on('connection', (socket: Socket) => {
      const connection = this.connected(socket, null);
      new PlainConnection(socket, {
        serve: (head, body, plain) => this.plainCalls.serve(head, body, connection, plain),
        handOver: speakHttp!.bind(server),
        late: (late) => onClientError(Object.assign(new Error('no request'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), late),
        broken: (broken) => onClientError(Object.assign(new Error('half a request'), { code: 'HPE_INVALID_EOF_STATE' }), broken),
        firstRequestMs: this.options.headersTimeoutMs,
        keepAliveMs: KEEP_ALIVE_MS,
      });
    });
  }

  private connected(socket: Socket, shown: ShownCertificate | null): CallerConnection {
    const connection = new CallerConnection(socket, canonicalAddress(socket.remoteAddress ?? ''), shown);
    this.connections.add(connection);
    this.ofSocket.set(socket, connection);
    socket.on('end', () => connection.ended());
    socket.on('close', () => {
      this.connections.delete(connection);
      connection.ended();
    });
    return connection;
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const connection = this.ofSocket.get(request.socket)!;
    const sent = request.headers['x-request-id'];
    const requestId = typeof sent === 'string' && isRequestId(sent) ? sent : this.nextRequestId();
    const { counts, maxInFlight, routes } = this.options;
    const isFull = counts.inFlight >= maxInFlight || !connection.mayBegin;
    counts.inFlight++;
    connection.began();
    const { path, query } = targetOf(request.url ?? '');
    const name = routeName(routes, path);
    const answer = isFull ? problemAnswer(tooManyCalls(), requestId) : await this.answer(request, { name, query, connection, requestId });
    counts.inFlight--;
    counts.count(name ?? 'unknown', answer.status);
    connection.answered();
    if (response.destroyed) return;
    try {
      sendAnswer(response, answer, requestId, this.isDraining || hasMuchToCome(request));
    } catch (err) {
      this.options.logger.error({ err, requestId }, 'an answer could not be written');
      connection.cut();
    }
  }

  private async answer(request: IncomingMessage, { name, query, connection, requestId }: Asked): Promise<Answer> {
    const { callers, logger, routes } = this.options;
    try {
      demandKnownVersion(request);
      const caller = connection.callerOf(request, callers);
      if (name === undefined) throw new ProblemError({ status: 404, code: 'route.not_found', detail: 'there is no such call' });
      const route = routes[name]!;
      const method = request.method ?? '';
      if (route.method !== undefined && route.method !== method) throw methodNotAllowed(route.method);
      const call: Call = {
        method,
        query,
        target: request.url ?? '',
        requestId,
        caller,
        peer: connection.peer,
        rawHeaders: request.rawHeaders,
        body: (mostBytes) => readJsonObject(request, mostBytes, this.budget),
        bytes: (mostBytes) => readBytes(request, mostBytes, this.budget),
        left: connection.left,
      };
      return await route.handle(call);
    } catch (error) {
      return answerOfError(error, requestId, logger);
    }
  }
}

/** Where a call came, and by what it is told from others. */
interface Asked {
  /** Of its route; undefined if there is none. */
  readonly name: string | undefined;
  readonly query: URLSearchParams;
  readonly connection: CallerConnection;
  readonly requestId: string;
}

/** Up to this declared length, what nobody has read of a body is dropped, so that the connection can go on. */
const DROPPED_BODY_BYTES = 64 * 1024;

function hasMuchToCome({ complete, headers }: IncomingMessage): boolean {
  return !complete && !(Number(headers['content-length']) <= DROPPED_BODY_BYTES);
}

const NO_QUERY = new URLSearchParams();

function targetOf(target: string): { path: string; query: URLSearchParams } {
  const at = target.indexOf('?');
  return at === -1 ? { path: target, query: NO_QUERY } : { path: target.slice(0, at), query: new URLSearchParams(target.slice(at + 1)) };
}

function methodNotAllowed(allowed: string): ProblemError {
  return new ProblemError({
    status: 405,
    code: 'route.method_not_allowed',
    detail: `this is asked by ${allowed}`,
    headers: { allow: allowed },
  });
}

const STATUS_OF_PARSER_ERROR: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

/** What node's parser cannot make sense of, or what took too long to arrive. */
function onClientError(error: NodeJS.ErrnoException, stream: NodeJS.EventEmitter): void {
  const socket = stream as Socket;
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const status = STATUS_OF_PARSER_ERROR[error.code ?? ''] ?? '400 Bad Request';
  socket.end(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
}

import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { canonicalAddress } from '#addresses';
import type { Drainable, ShownCertificate } from '#edge';
import type { ClientRequest, ClientResponse } from '../messages/client-message.js';
import type { DataPlane, Timed } from '../data-plane.js';
import { Exchange } from '../exchange.js';
import type { ExchangeConnection } from '../exchange-connection.js';
import { HalfClosedClient } from './half-closed-client.js';
import { cutIfTooMuch, lingerOnClose } from './linger.js';
import { Pace } from '../bodies/pace.js';
import { PROBLEMS, type Problem } from '../problems.js';
import { responseOn, WebSocketExchange } from '../web-sockets/web-socket-exchange.js';

/** With this many requests waiting for their turn, nothing more is read from a connection; with few left, reading goes on. */
const PAUSED_AT = 64;
const RESUMED_AT = 16;

/** The most that wait for their turn on one connection: what was read before the pause, up to 64 KiB, may hold many. */
const MAX_WAITING = 1_024;

/** An answer of which is known when all of it is the socket's. */
interface OrderedResponse extends ClientResponse {
  readonly writableFinished: boolean;
}

interface Waiting {
  request: ClientRequest;
  response: OrderedResponse;
  expectsContinue: boolean;
  problem: Problem | undefined;
}

/**
 * One connection from a client. Its requests are handled one after the other, also when they are pipelined: RFC 9112
 * allows no more unless all are safe, and no client gets more of the gateway by not waiting for answers. All are answered
 * in order; a client that sends faster than it is answered is not read any further.
 *
 * A client may close its sending side once it has sent its requests: it still gets its answers, and then the connection ends.
 */
export class ClientConnection implements ExchangeConnection, Timed, Drainable {
  /** The remote address in canonical text; an IPv4 address even if it arrived as an IPv4-mapped IPv6 address. */
  readonly peer: string;
  /** Whether the peer may say who the client is and where a request came from. */
  readonly trusted: boolean;
  readonly secure: boolean;
  /** Whether the connection ends after the current answer, even if further requests wait. */
  closing = false;
  /** The last Host value that was found valid. */
  host = '';

  private current: Exchange | null = null;
  /** While bytes wait for the client to read them. */
  private reading: Pace | null = null;
  private readonly waiting: Waiting[] = [];
  /** Whether further requests may come. What already waits is answered in any case. */
  private accepting = true;
  /** Requests whose headers have come, ever. */
  private asked = 0;
  /** Why the parser stopped, if it did: a request that is incomplete stays so. */
  private broken: Problem | null = null;
  private lastResponse: OrderedResponse | null = null;
  private advancing = false;
  private paused = false;
  private pausedBefore = false;
  private halfClosed: HalfClosedClient | undefined;

  constructor(
    private readonly plane: DataPlane,
    readonly socket: Socket | TLSSocket,
    readonly certificate: ShownCertificate | null = null,
  ) {
    this.secure = 'encrypted' in socket;
    this.peer = canonicalAddress(socket.remoteAddress ?? '');
    this.trusted = plane.trusts(this.peer);
  }

  get idle(): boolean {
    return this.current === null;
  }

  /** Whether the current answer is the last one. */
  get endsAfterCurrent(): boolean {
    return this.closing || (this.waiting.length === 0 && (!this.accepting || this.plane.draining));
  }

  accept(request: ClientRequest, response: OrderedResponse, expectsContinue: boolean, problem?: Problem): void {
    this.asked++;
    if (this.closing || !this.accepting) return;
    const arrived = { request, response, expectsContinue, problem };
    if (this.current === null) {
      this.begin(arrived);
      return;
    }
    if (this.waiting.length >= MAX_WAITING || this.plane.waiting >= this.plane.maxInFlight) {
      // The last request gets its answer in its turn, so that the client knows from which one on it has to ask again.
      arrived.problem = PROBLEMS.tooManyWaiting;
      this.accepting = false;
    }
    this.waiting.push(arrived);
    this.plane.waiting++;
    if (this.waiting.length >= PAUSED_AT) this.pauseReading();
  }

  /**
   * A client asks to speak WebSocket from here on, and node reads nothing more. Behind other requests that is not looked at: the connection ends with
   * their answers, and the client has to ask again.
   */
  upgrade(request: IncomingMessage): void {
    const { socket } = this;
    this.asked++;
    socket.on('error', () => socket.destroy()).on('timeout', () => socket.destroy());
    if (this.closing || !this.accepting) return;
    this.accepting = false;
    if (this.current !== null) return;
    // Before that the socket is the former answer's.
    this.whenWritten(() => {
      if (socket.destroyed) return;
      socket.setTimeout(this.plane.settings.clientIdleTimeoutMs);
      const exchange = new WebSocketExchange(this.plane, this, request, responseOn(socket, request), socket);
      this.current = exchange;
      exchange.begin();
    });
  }

  /** A WebSocket would not end by itself. */
  closeTunnel(): void {
    if (this.current instanceof WebSocketExchange) this.current.closeTunnel();
  }

  /** The exchange has handed its last byte to the response. */
  ended(exchange: { readonly response: ClientResponse }): void {
    if (this.current !== exchange) return;
    this.current = null;
    this.lastResponse = exchange.response as OrderedResponse;
    if (!this.advancing) this.advance();
  }

  cut(): void {
    this.socket.destroy();
  }

  allowSilence(ms: number): void {
    this.socket.setTimeout(ms);
  }

  linger(request: ClientRequest): void {
    lingerOnClose(this.socket, request);
  }

  cutUnlessComplete(request: ClientRequest): void {
    process.nextTick(cutUnlessComplete, this.socket, request);
  }

  get activity(): number {
    return this.socket.bytesRead;
  }

  closeQuietly(): void {
    this.socket.destroySoon();
  }

  /**
   * Node is tired of waiting for the headers of a request. It looks before the sockets are read, so they may have come while this process did
   * not run: what is whole a moment later is served. Half of them is too late even so, as node asks for each request once.
   */
  failUnlessAsked(problem: Problem): void {
    const { asked } = this;
    setImmediate(() => {
      if (this.asked === asked && !this.socket.destroyed) this.fail(problem);
    });
  }

  /** Nothing more is expected from the client; what it has sent whole is still answered. */
  stopAccepting(): void {
    this.accepting = false;
  }

  /** Ends the connection after the current answer: what follows on it is not looked at. */
  closeAfterResponse(): void {
    this.closing = true;
    this.plane.waiting -= this.waiting.length;
    this.waiting.length = 0;
  }

  /** The client has closed its sending side, or is gone: which of both shows only when something is written to it. */
  readonly clientEnded = (): void => {
    this.accepting = false;
    if (this.current === null) return;
    this.halfClosed ??= new HalfClosedClient(this.socket, () => this.current);
  };

  /** The socket has closed. */
  closed(): void {
    this.halfClosed?.stop();
    this.closeAfterResponse();
    this.current?.clientGone();
  }

  /** The parser cannot go on. Says so, unless that could be taken for the answer to another request. */
  fail(problem: Problem): void {
    const { current, socket } = this;
    // Behind the last request nothing is looked at; what is missing of itself will not come.
    if ((this.closing || !this.accepting) && current?.received !== false) return;
    // The headers are late because this connection is not being read.
    if (this.paused && problem === PROBLEMS.requestTimeout) return;
    this.accepting = false;
    this.broken = problem;
    if (current === null) {
      this.closeAfterResponse();
      this.whenWritten(() => {
        if (socket.writable) socket.write(wholeResponse(problem, this.plane.nextRequestId()));
        socket.destroySoon();
      });
    } else if (!current.received) {
      this.closeAfterResponse();
      current.reject(problem);
    }
  }

  /** Looks after deadlines: those of the request that is under way, and of answers that the client does not read. */
  tick(nowMs: number, elapsedMs: number): void {
    this.current?.tick(nowMs, elapsedMs);
    const { socket } = this;
    const unread = socket.writableLength;
    if (unread === 0) {
      this.reading = null;
      return;
    }
    const { responseBodyGraceMs, minBodyBytesPerSecond } = this.plane.settings;
    const read = socket.bytesWritten - unread;
    if (this.reading === null) {
      this.reading = new Pace(responseBodyGraceMs, minBodyBytesPerSecond, read);
    } else if (this.reading.tooSlow(read, elapsedMs)) {
      this.plane.shed('slow_download', this.current?.owner ?? this.peer);
      reset(socket);
    }
  }

  /** Begins what waits, as far as it is answered at once; in a loop, because a stack of a thousand requests is too deep. */
  private advance(): void {
    this.advancing = true;
    while (this.current === null && !this.closing && this.waiting.length > 0) {
      const next = this.waiting.shift()!;
      this.plane.waiting--;
      if (this.paused && this.waiting.length < RESUMED_AT) this.resumeReading();
      this.begin(next);
    }
    this.advancing = false;
    if (this.current === null && !this.socket.destroyed && this.endsAfterCurrent) this.closeWhenWritten();
  }

  private begin({ request, response, expectsContinue, problem }: Waiting): void {
    const exchange = new Exchange(this.plane, this, request, response, expectsContinue);
    this.current = exchange;
    // Without a body nobody is told to continue, and node ends the connection behind such an answer: what follows must not be begun.
    if (exchange.head.closes || (expectsContinue && exchange.head.bodyLength === 0)) this.closeAfterResponse();
    if (this.broken !== null && !request.complete) exchange.reject(this.broken);
    // What is wrong with the headers comes first: it may end the connection.
    else if (problem !== undefined && exchange.head.problem === null) exchange.reject(problem);
    else exchange.begin();
  }

  private pauseReading(): void {
    if (!this.pausedBefore) {
      this.pausedBefore = true;
      // Node resumes the socket at the end of each request it has parsed. A stream that was paused again before its
      // `resume` event came does not say so a second time, but that event has made node read again.
      this.socket.on('resume', () => {
        if (!this.paused) return;
        this.socket.pause();
        this.socket.emit('pause');
      });
    }
    this.paused = true;
    this.socket.pause();
  }

  private resumeReading(): void {
    this.paused = false;
    this.socket.resume();
  }

  /** The answer may have begun before it was known that the connection has to close: without `Connection: close`. */
  private closeWhenWritten(): void {
    this.whenWritten(() => {
      if (!this.socket.writableEnded) this.socket.destroySoon();
    });
  }

  /** Node keeps an answer back until those before it are out, and would lose it with what is written to the socket meanwhile. */
  private whenWritten(act: () => void): void {
    const { lastResponse } = this;
    if (lastResponse === null || lastResponse.writableFinished) act();
    else lastResponse.once('finish', act);
  }
}

function cutUnlessComplete(socket: Socket, request: ClientRequest): void {
  if (!request.complete) cutIfTooMuch(socket, request);
}

/** Not `destroy`: the kernel would go on keeping for the client what it does not read. */
function reset(socket: Socket | TLSSocket): void {
  // Only TCP can be reset, and node does not document what is below TLS.
  const tcp = 'encrypted' in socket ? (socket as { _parent?: unknown })._parent : socket;
  if (tcp instanceof Socket) tcp.resetAndDestroy();
  else socket.destroy();
}

function wholeResponse(problem: Problem, requestId: string): string {
  const body = problem.body(requestId);
  let headers = '';
  for (let i = 0; i < problem.headers.length; i += 2) headers += `${problem.headers[i]}: ${problem.headers[i + 1]}\r\n`;
  return (
    `HTTP/1.1 ${problem.status} ${problem.title}\r\nContent-Type: application/problem+json\r\n` +
    `${headers}Content-Length: ${Buffer.byteLength(body)}\r\nX-Request-Id: ${requestId}\r\n` +
    `Date: ${new Date().toUTCString()}\r\nConnection: close\r\n\r\n${body}`
  );
}

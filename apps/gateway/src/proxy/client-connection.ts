import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { DataPlane } from './data-plane.js';
import { Exchange } from './exchange.js';
import type { Problem } from './problems.js';

/** Requests that a client may send on one connection before it has read the answers to the earlier ones. */
const MAX_WAITING = 64;

/**
 * One connection from a client. Its requests are handled one after the other, also when they are pipelined: RFC 9112
 * allows no more unless all are safe, and no client gets more of the gateway by not waiting for answers.
 */
export class ClientConnection {
  /** The remote address; an IPv4 address even if it arrived as an IPv4-mapped IPv6 address. */
  readonly peer: string;
  /** Whether the peer may say who the client is and where a request came from. */
  readonly trusted: boolean;
  /** Whether the connection ends after the current answer. */
  closing = false;
  /** The last Host value that was found valid. */
  host = '';

  private current: Exchange | null = null;
  private readonly waiting: (() => void)[] = [];

  constructor(
    private readonly plane: DataPlane,
    readonly socket: Socket,
  ) {
    this.peer = unmapped(socket.remoteAddress ?? '');
    this.trusted = plane.trusts(this.peer);
  }

  get idle(): boolean {
    return this.current === null;
  }

  accept(request: IncomingMessage, response: ServerResponse, expectsContinue: boolean, problem?: Problem): void {
    if (this.closing) return;
    if (this.current === null) {
      this.begin(request, response, expectsContinue, problem);
    } else if (this.waiting.length < MAX_WAITING) {
      this.waiting.push(() => this.begin(request, response, expectsContinue, problem));
    } else {
      // Closing is what RFC 9112 provides for; the client knows which of its requests were not answered.
      this.distrust();
    }
  }

  /** The exchange has handed its last byte to the response. */
  ended(exchange: Exchange): void {
    if (this.current !== exchange) return;
    this.current = null;
    if (this.socket.destroyed) return;
    if (this.closing || this.plane.draining) this.closeWhenWritten(exchange.response);
    else this.waiting.shift()?.();
  }

  /** Ends the connection after the current answer: what follows on it is not looked at. */
  distrust(): void {
    this.closing = true;
    this.waiting.length = 0;
  }

  /** The socket has closed. */
  closed(): void {
    this.closing = true;
    this.waiting.length = 0;
    this.current?.clientGone();
  }

  /** The parser cannot go on. Says so, unless that could be taken for the answer to another request. */
  fail(problem: Problem): void {
    if (this.closing) return;
    this.distrust();
    const { current, socket } = this;
    if (current === null) {
      if (socket.writable) socket.write(wholeResponse(problem, this.plane.nextRequestId()));
      socket.destroySoon();
    } else if (!current.received) {
      current.reject(problem);
    }
  }

  private begin(request: IncomingMessage, response: ServerResponse, expectsContinue: boolean, problem?: Problem): void {
    const exchange = new Exchange(this.plane, this, request, response, expectsContinue);
    this.current = exchange;
    if (problem === undefined) exchange.begin();
    else exchange.reject(problem);
  }

  /** The answer may have begun before it was known that the connection has to close: without `Connection: close`. */
  private closeWhenWritten(response: ServerResponse): void {
    const close = (): void => {
      if (!this.socket.writableEnded) this.socket.destroySoon();
    };
    if (response.writableFinished) close();
    else response.once('finish', close);
  }
}

/** An IPv4 client of a dual-stack socket appears as ::ffff:192.0.2.1, and is the same client. */
function unmapped(address: string): string {
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;
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

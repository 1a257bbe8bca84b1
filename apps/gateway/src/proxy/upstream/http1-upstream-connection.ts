import type { Socket } from 'node:net';
import { errors } from 'undici';
import { type AnswerListener, AnswerParser } from './answer-parser.js';
import { type Http1Request, requestText } from './http1-request-text.js';
import type { StreamTimeouts, UpstreamHandler } from './http2-upstream-stream.js';

/** Is told of a connection. */
export interface Http1ConnectionOwner {
  /** It has answered whole, and another request may go over it. */
  becameFree(connection: Http1UpstreamConnection): void;
  /** Nothing goes over it any more. */
  closed(connection: Http1UpstreamConnection): void;
}

/** So long a connection that nobody needs is kept, unless its upstream says for how long it keeps it. */
const KEPT_IDLE_MS = 4_000;
/** It is given up so much before the upstream would. */
const BEFORE_UPSTREAM_MS = 1_000;
const MOST_KEPT_IDLE_MS = 600_000;

const CONTINUE = 100;
const GIVEN_UP = new Error('the request was given up');

/** One connection to an upstream of HTTP/1.1, for one request at a time. Whatever is odd on it ends it: then nobody takes what comes for the answer to something else. */
export class Http1UpstreamConnection implements AnswerListener {
  private readonly parser = new AnswerParser(this);
  private handler: UpstreamHandler | null = null;
  private isHead = false;
  private hasAnswer = false;
  /** Of the answer that is read: the connection ends with it. */
  private isLast = false;
  /** What has come and is not read, while the handler wants no more. */
  private unread: Buffer | undefined;
  private isOver = false;
  private silentMs = 0;
  private keptIdleMs = KEPT_IDLE_MS;

  /** @param authority for requests without a Host */
  constructor(
    private readonly socket: Socket,
    private readonly authority: string,
    private readonly timeouts: StreamTimeouts,
    private readonly owner: Http1ConnectionOwner,
  ) {
    socket.on('data', (chunk: Buffer) => this.read(() => this.parser.read(chunk)));
    socket.on('end', () => this.ended());
    socket.on('error', (error) => this.end(error));
    socket.on('close', () => {
      this.end(new errors.SocketError('the upstream closed the connection'));
      this.parser.free();
    });
  }

  send(request: Http1Request, handler: UpstreamHandler): void {
    this.silentMs = 0;
    this.hasAnswer = false;
    this.handler = handler;
    this.isHead = request.method === 'HEAD';
    let isGivenUp = false;
    let isSent = false;
    handler.onConnect((error = GIVEN_UP) => {
      if (this.handler !== handler) return;
      if (isSent) this.end(error);
      else isGivenUp = true;
    });
    if (isGivenUp) {
      this.release();
      handler.onError(GIVEN_UP);
      return;
    }
    isSent = true;
    // As undici does: some servers send a body behind the head of such an answer.
    this.isLast = this.isHead;
    const { text, body } = requestText(request, this.authority, this.isHead);
    this.socket.write(text, 'latin1');
    if (body !== null) this.socket.write(body);
  }

  /** @param elapsedMs since the last call, in which this process ran */
  tick(elapsedMs: number): void {
    // Who does not read what has come is the client, and has deadlines of its own.
    if (this.unread !== undefined) return;
    const { headersTimeoutMs, bodyIdleTimeoutMs } = this.timeouts;
    this.silentMs += elapsedMs;
    if (this.handler === null) {
      if (this.silentMs > this.keptIdleMs) this.end(new Error('nobody needs the connection'));
    } else if (!this.hasAnswer) {
      if (this.silentMs > headersTimeoutMs) this.end(new errors.HeadersTimeoutError());
    } else if (this.silentMs > bodyIdleTimeoutMs) this.end(new errors.BodyTimeoutError());
  }

  /** Cuts it. The request on it fails. */
  end(error: Error): void {
    if (this.isOver) return;
    this.isOver = true;
    this.socket.destroy();
    this.owner.closed(this);
    const { handler } = this;
    this.handler = null;
    handler?.onError(error);
  }

  answerBegins(): void {
    if (this.handler === null) throw new errors.SocketError('the upstream answered what nobody has asked');
  }

  headRead({ status, rawHeaders, isUpgrade, keepsAlive }: Parameters<AnswerListener['headRead']>[0]): boolean {
    // Nobody has asked for either.
    if (status === CONTINUE || isUpgrade) throw new errors.SocketError('the upstream sent an answer that was not asked for');
    const isFinal = status >= 200;
    if (isFinal) {
      this.hasAnswer = true;
      this.isLast ||= !keepsAlive;
      this.keptIdleMs = keptIdleMsOf(rawHeaders);
      this.isLast ||= this.keptIdleMs <= 0;
    }
    this.silentMs = 0;
    this.handler?.onHeaders(status, rawHeaders, this.resume);
    // Perhaps it was given up meanwhile.
    this.demandOpen();
    return isFinal && !this.isHead;
  }

  bodyRead(chunk: Buffer): boolean {
    this.silentMs = 0;
    const takesMore = this.handler?.onData(chunk) !== false;
    this.demandOpen();
    return takesMore;
  }

  answerEnds(trailers: Buffer[]): void {
    if (!this.hasAnswer) return;
    const { handler } = this;
    this.handler = null;
    if (this.isLast) {
      this.isOver = true;
      this.socket.destroy();
      this.owner.closed(this);
    }
    handler?.onComplete(trailers.map((each) => each.toString('latin1')));
    if (!this.isLast) this.release();
  }

  private readonly resume = (): void => {
    if (this.unread === undefined || this.isOver) return;
    const rest = this.unread;
    this.unread = undefined;
    this.silentMs = 0;
    this.read(() => this.parser.readOn(rest));
    if (this.unread === undefined) this.socket.resume();
  };

  private read(parse: () => Buffer | undefined): void {
    if (this.isOver) return;
    try {
      this.unread = parse();
      if (this.unread !== undefined) this.socket.pause();
    } catch (error) {
      this.end(error as Error);
    }
  }

  /** The upstream sends nothing more: that is the end of an answer without a length, and of the connection in any case. */
  private ended(): void {
    if (this.isOver) return;
    if (this.hasAnswer && this.isLast) this.read(() => (this.parser.finish(), undefined));
    this.end(new errors.SocketError('the upstream closed the connection'));
  }

  private release(): void {
    this.silentMs = 0;
    this.handler = null;
    this.hasAnswer = false;
    this.owner.becameFree(this);
  }

  private demandOpen(): void {
    if (this.isOver) throw GIVEN_UP;
  }
}

const TIMEOUT = /timeout=(\d{1,6})/;
/** Of the first letter of Keep-Alive, in lower case: Connection has as many. */
const K = 0x6b;

/** By the Keep-Alive header of an answer. 0 or less: it cannot be kept. */
function keptIdleMsOf(rawHeaders: readonly Buffer[]): number {
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    if (name.length !== 10 || (name[0]! | 0x20) !== K || name.toString('latin1').toLowerCase() !== 'keep-alive') continue;
    const seconds = TIMEOUT.exec(rawHeaders[i + 1]!.toString('latin1'))?.[1];
    if (seconds !== undefined) return Math.min(Number(seconds) * 1000 - BEFORE_UPSTREAM_MS, MOST_KEPT_IDLE_MS);
  }
  return KEPT_IDLE_MS;
}

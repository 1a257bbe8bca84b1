import { type ClientHttp2Session, type ClientHttp2Stream, constants } from 'node:http2';
import { addAbortSignal, Readable } from 'node:stream';
import { errors } from 'undici';
import { http2RequestHeaders, http2Trailers, rawHeadersOf } from './http2-upstream-headers.js';
import { allowedTrailers } from '../messages/trailers.js';

/** A request, as the proxy wants it sent. */
export interface UpstreamRequest {
  readonly method: string;
  readonly path: string;
  /** A flat list of names and values. */
  readonly headers: readonly string[];
  readonly body: Buffer | Readable | null;
  /** What comes behind the body. */
  readonly trailed: Trailed | null;
}

/** Names and values alternating, once the body is whole. */
export interface Trailed {
  readonly trailers: readonly string[];
}

/** Told of what becomes of a request: the part of undici's handler that an UpstreamCall has. */
export interface UpstreamHandler {
  onConnect(abort: (error?: Error) => void): void;
  onHeaders(status: number, rawHeaders: Buffer[], resume: () => void): boolean;
  onData(chunk: Buffer): boolean;
  onComplete(trailers: readonly string[]): void;
  onError(error: Error): void;
}

export interface StreamTimeouts {
  /** From the end of the request to the headers of the answer. */
  readonly headersTimeoutMs: number;
  /** Between two pieces of the answer. */
  readonly bodyIdleTimeoutMs: number;
}

const NOT_MODIFIED = 304;

const GIVEN_UP = new Error('the request was given up');
/** By this node knows that a stream is given up, and says so, and not that something is wrong with it. */
const ABORTED = AbortSignal.abort();

/** One request on a stream of HTTP/2, and its answer. Its handler is told once how it ended. */
export class Http2UpstreamStream {
  private stream: ClientHttp2Stream | undefined;
  private isOver = false;
  /** Bytes of the body that are still to come, if the answer has said how many there are. */
  private missing: number | undefined;
  private isWhole = false;
  private hasAnswer = false;
  private isPaused = false;
  private silentMs = 0;
  private trailers: readonly string[] = [];

  /** @param onOver told once it needs nothing more */
  constructor(
    private readonly request: UpstreamRequest,
    private readonly handler: UpstreamHandler,
    private readonly timeouts: StreamTimeouts,
    private readonly onOver: (stream: Http2UpstreamStream) => void,
  ) {}

  open(session: ClientHttp2Session, authority: string): void {
    const { handler, request } = this;
    handler.onConnect((error = GIVEN_UP) => this.fail(error));
    if (this.isOver) return;
    const { body, headers, method, path } = request;
    const sent = http2RequestHeaders({ method, path, authority }, headers);
    if (body instanceof Buffer) sent['content-length'] = body.length;
    try {
      this.stream = session.request(sent, { endStream: body === null, waitForTrailers: this.mayHaveTrailers });
    } catch (error) {
      // A header that HTTP/2 has once at most, or a connection that has ended this moment.
      this.fail(session.closed || session.destroyed ? (error as Error) : new errors.InvalidArgumentError((error as Error).message));
      return;
    }
    this.listen(this.stream);
    if (body !== null) this.send(this.stream, body);
  }

  /** @param elapsedMs since the last call, in which this process ran */
  tick(elapsedMs: number): void {
    const { headersTimeoutMs, bodyIdleTimeoutMs } = this.timeouts;
    // Who does not read what has come is the client, and has deadlines of its own; so has one that does not send.
    if (this.isPaused || (!this.hasAnswer && this.stream?.writableFinished !== true)) return;
    this.silentMs += elapsedMs;
    if (!this.hasAnswer && this.silentMs > headersTimeoutMs) this.fail(new errors.HeadersTimeoutError());
    else if (this.hasAnswer && this.silentMs > bodyIdleTimeoutMs) this.fail(new errors.BodyTimeoutError());
  }

  /** Gives the request up. Whatever of it is on its way does not look whole: node's `close` would end the body first. */
  fail(error: Error): void {
    if (this.isOver) return;
    this.ends();
    this.handler.onError(error);
  }

  /** Without any, node sends an empty frame in their place. */
  private get mayHaveTrailers(): boolean {
    const { body, trailed } = this.request;
    return trailed !== null && (body instanceof Readable || (body !== null && trailed.trailers.length > 0));
  }

  private listen(stream: ClientHttp2Stream): void {
    // Node gives the headers as they came as well, which its types do not know.
    stream.on('headers', (...[headers, , raw]: unknown[]) => this.informed(headers as Answered, raw as readonly string[]));
    stream.on('response', (...[headers, , raw]: unknown[]) => this.answered(headers as Answered, raw as readonly string[]));
    stream.on('trailers', (...[, , raw]: unknown[]) => (this.trailers = raw as readonly string[]));
    stream.on('data', (chunk: Buffer) => this.received(chunk));
    // What comes with the end of the body is told after it.
    stream.on('end', () => process.nextTick(() => this.ended()));
    stream.on('error', (error: Error) => this.fail(error));
    stream.on('close', () => this.fail(new Error(`the upstream ended the stream with code ${stream.rstCode}`)));
  }

  private send(stream: ClientHttp2Stream, body: Buffer | Readable): void {
    stream.on('wantTrailers', () => stream.sendTrailers(http2Trailers(allowedTrailers(this.request.trailed!.trailers))));
    if (!(body instanceof Readable)) {
      stream.end(body);
      return;
    }
    body.on('data', (chunk: Buffer) => {
      if (!this.isOver && stream.writable && !stream.write(chunk)) body.pause();
    });
    body.on('end', () => stream.end());
    body.on('close', () => {
      if (!body.readableEnded) this.fail(new Error('the body of the request broke off'));
    });
    stream.on('drain', () => body.resume());
  }

  private informed({ ':status': status }: Answered, raw: readonly string[]): void {
    if (this.isOver || this.hasAnswer) return;
    this.attempt(() => this.handler.onHeaders(Number(status), rawHeadersOf(raw), this.resume));
  }

  private answered({ ':status': status, 'content-length': length }: Answered, raw: readonly string[]): void {
    if (this.isOver) return;
    this.hasAnswer = true;
    this.silentMs = 0;
    if (length !== undefined && this.request.method !== 'HEAD' && status !== NOT_MODIFIED) this.missing = Number(length);
    this.attempt(() => this.handler.onHeaders(Number(status), rawHeadersOf(raw), this.resume));
  }

  private received(chunk: Buffer): void {
    if (this.isOver) return;
    this.silentMs = 0;
    if (this.missing !== undefined) this.missing -= chunk.length;
    this.attempt(() => {
      if (this.handler.onData(chunk)) return;
      this.isPaused = true;
      this.stream!.pause();
    });
  }

  /** Node ends a stream that was reset without an error like one that has ended, and its own server resets so what it has answered whole, when much is to be written. */
  private ended(): void {
    if (this.isOver) return;
    const { rstCode } = this.stream!;
    if (!this.hasAnswer || rstCode !== constants.NGHTTP2_NO_ERROR || (this.missing ?? 0) !== 0) {
      this.fail(new Error(`the upstream broke its answer off with code ${rstCode}`));
      return;
    }
    this.isWhole = true;
    this.ends();
    this.handler.onComplete(this.trailers);
  }

  /** What the handler cannot take, such as a character that no answer may have, ends the request and nothing else. */
  private attempt(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.fail(error as Error);
    }
  }

  private readonly resume = (): void => {
    this.isPaused = false;
    this.silentMs = 0;
    this.stream?.resume();
  };

  private ends(): void {
    this.isOver = true;
    const { body } = this.request;
    const { stream } = this;
    // A whole exchange ends by itself. What else there is of it is of no use any more.
    if (stream !== undefined && !(this.isWhole && stream.writableFinished)) addAbortSignal(ABORTED, stream);
    if (body instanceof Readable && !body.readableEnded) body.destroy();
    this.onOver(this);
  }
}

type Answered = Readonly<{ ':status': number; 'content-length'?: string }>;

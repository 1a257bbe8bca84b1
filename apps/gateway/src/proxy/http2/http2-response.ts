import type { OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { ClientResponse } from '../messages/client-message.js';

/** Answers without a body, whatever is written. */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304]);

/** An answer on a stream of HTTP/2. What is written to a stream that is gone is thrown away. */
export class Http2Response implements ClientResponse {
  statusCode = 0;
  readonly shouldKeepAlive = true;
  private headers: OutgoingHttpHeaders | null = null;
  private bytes = 0;
  private trailers: [string, string][] = [];
  private hasLength = false;

  constructor(
    private readonly stream: ServerHttp2Stream,
    /** Of a HEAD there is no body, whatever is written. */
    private readonly isHead: boolean,
  ) {}

  /** Bytes of the body that the client has taken. */
  get taken(): number {
    return this.bytes - this.stream.writableLength;
  }

  writeHead(status: number, list: string[]): void {
    // Here, where the upstream is to blame for it.
    if (status > 599) throw new RangeError('HTTP/2 has no such status');
    this.statusCode = status;
    this.headers = headersOf(list);
    this.hasLength = 'content-length' in this.headers;
  }

  flushHeaders(): void {
    this.respond(false);
  }

  write(chunk: Buffer): boolean {
    this.respond(false);
    if (this.isGone || this.stream.writableEnded) return true;
    this.bytes += chunk.length;
    return this.stream.write(chunk);
  }

  end(body?: Buffer | string, encoding?: 'latin1'): void {
    const last = typeof body === 'string' ? Buffer.from(body, encoding) : body;
    const isEmpty = last === undefined || last.length === 0;
    this.respond(isEmpty && this.trailers.length === 0);
    if (this.isGone || this.stream.writableEnded) return;
    if (!isEmpty) this.bytes += last.length;
    this.stream.end(isEmpty ? undefined : last);
  }

  once(event: 'drain' | 'finish', listener: () => void): this {
    this.stream.once(event, listener);
    return this;
  }

  writeContinue(): void {
    this.inform(100, []);
  }

  /** RFC 9113 has nothing against it, but a client of HTTP/2 that is gone says so: there is nothing to find out. */
  writeProcessing(): void {}

  private get isGone(): boolean {
    return this.stream.destroyed || this.stream.closed;
  }

  inform(status: number, list: readonly string[]): void {
    if (!this.isGone && !this.stream.headersSent) this.stream.additionalHeaders({ ...headersOf(list), ':status': status });
  }

  addTrailers(trailers: [string, string][]): void {
    this.trailers = trailers;
  }

  /** Without any, node ends the stream with an empty frame of data. */
  private sendTrailers(): void {
    if (!this.isGone) this.stream.sendTrailers(headersOf(this.trailers.flat()));
  }

  private respond(endStream: boolean): void {
    const { headers, statusCode, stream } = this;
    if (headers === null || this.isGone) return;
    this.headers = null;
    headers[':status'] = statusCode;
    const isWhole = endStream || this.isHead || BODILESS.has(statusCode);
    // As in HTTP/1.1, where there are no trailers behind a body whose length was announced.
    const waitForTrailers = !isWhole && !this.hasLength;
    if (waitForTrailers) stream.once('wantTrailers', () => this.sendTrailers());
    try {
      stream.respond(headers, { endStream: isWhole, waitForTrailers });
    } catch (error) {
      // Headers that only HTTP/1.1 can carry: the client sees that the answer broke off.
      stream.destroy(error as Error);
    }
  }
}

/** Several values of a name are one list, but for cookies; what only HTTP/1.1 has is left out. */
function headersOf(list: readonly string[]): OutgoingHttpHeaders {
  const headers = Object.create(null) as OutgoingHttpHeaders;
  for (let i = 0; i < list.length; i += 2) {
    const name = list[i]!.toLowerCase();
    const value = list[i + 1]!;
    const before = headers[name] as string | string[] | undefined;
    if (name === 'connection') continue;
    if (name === 'set-cookie') headers[name] = before === undefined ? [value] : [...before, value];
    else headers[name] = before === undefined ? value : `${before as string}, ${value}`;
  }
  return headers;
}

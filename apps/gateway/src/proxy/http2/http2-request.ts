import type { ServerHttp2Stream } from 'node:http2';
import type { ClientRequest } from '../messages/client-message.js';
import { PROBLEMS, type Problem } from '../problems.js';

/** What the headers of a stream say, in the form of HTTP/1.1; `problem` if there is no such form. */
export interface TranslatedHead {
  readonly method: string;
  readonly target: string;
  /** Names and values alternating, with a Host and without what begins with a colon. */
  readonly rawHeaders: string[];
  /** The value of Expect in lower case; empty: none. */
  readonly expectation: string;
  readonly problem: Problem | undefined;
}

const NONE: readonly string[] = [];

/** Of each header of HTTP/1.1: a colon, a space and the end of the line. */
const BYTES_BETWEEN = 4;

/**
 * One request of HTTP/2 as the same one of HTTP/1.1, so that everything behind reads one form only. What has no such form is refused: two names for
 * the host, another scheme than that of the connection. The rest of RFC 9113, 8.2 (connection headers, order of pseudo-headers, lengths that are not
 * those of the body) nghttp2 has refused before with a reset of the stream.
 *
 * @param raw names and values alternating, as they came
 * @param endsWithHead no body follows
 * @param mostBytes of all names and values. What nghttp2 was told of it counts for clients that acknowledge it only.
 */
export function translatedHead(raw: readonly string[], endsWithHead: boolean, mostBytes: number): TranslatedHead {
  const rawHeaders: string[] = [];
  const pseudo = { ':method': '', ':path': '', ':scheme': '', ':authority': '' };
  let host: string | undefined;
  let cookie: string | undefined;
  let expectation = '';
  let hasLength = false;
  let bytes = 0;
  let problem: Problem | undefined;
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]!;
    const value = raw[i + 1]!;
    bytes += name.length + value.length + BYTES_BETWEEN;
    switch (name) {
      case ':method':
      case ':path':
      case ':scheme':
      case ':authority':
        pseudo[name] = value;
        break;
      case 'host':
        if (host !== undefined) problem = PROBLEMS.hostDuplicate;
        host = value;
        break;
      case 'cookie':
        // RFC 9113, 8.2.3: crumbs are one header before they leave for HTTP/1.1.
        cookie = cookie === undefined ? value : `${cookie}; ${value}`;
        break;
      case 'expect':
        expectation = value.toLowerCase();
        break;
      default:
        if (name === 'content-length') hasLength = true;
        rawHeaders.push(name, value);
    }
  }
  if (cookie !== undefined) rawHeaders.push('cookie', cookie);
  if (!endsWithHead && !hasLength) rawHeaders.push('transfer-encoding', 'chunked');
  const { ':method': method, ':path': target, ':scheme': scheme, ':authority': authority } = pseudo;
  if (method === 'CONNECT') problem = PROBLEMS.connect;
  else if (scheme !== 'https') problem ??= PROBLEMS.scheme;
  if (host !== undefined && authority !== '' && host !== authority) problem ??= PROBLEMS.hostDiffers;
  if (bytes > mostBytes) problem = PROBLEMS.headersTooLarge;
  rawHeaders.push('host', authority === '' ? (host ?? '') : authority);
  return { method, target, rawHeaders, expectation, problem };
}

/** A request on a stream of HTTP/2. */
export class Http2Request implements ClientRequest {
  /** Of the form in which it is read, and in which it goes on. */
  readonly httpVersion = '1.1';
  readonly method: string;
  readonly url: string;
  readonly rawHeaders: readonly string[];
  rawTrailers: readonly string[] = NONE;

  constructor(
    private readonly stream: ServerHttp2Stream,
    { method, target, rawHeaders }: TranslatedHead,
  ) {
    this.method = method;
    this.url = target;
    this.rawHeaders = rawHeaders;
    if (stream.endAfterHeaders) return;
    // Node gives them as they came as well, which its types do not know.
    stream.on('trailers', (...[, , raw]: unknown[]) => (this.rawTrailers = raw as readonly string[]));
  }

  get complete(): boolean {
    return this.stream.readableEnded || this.stream.endAfterHeaders;
  }

  get readableEnded(): boolean {
    return this.stream.readableEnded;
  }

  on(event: 'data' | 'end' | 'close', listener: (chunk: Buffer) => void): this {
    this.stream.on(event, listener);
    return this;
  }

  off(event: 'data' | 'end' | 'close', listener: (chunk: Buffer) => void): this {
    this.stream.off(event, listener);
    return this;
  }

  read(): unknown {
    return this.stream.read() as unknown;
  }

  pause(): void {
    this.stream.pause();
  }

  resume(): void {
    this.stream.resume();
  }
}

import type { OutgoingHttpHeaders } from 'node:http2';
import { errors } from 'undici';

/** What of a request is not in its list of headers. */
export interface RequestLine {
  readonly method: string;
  readonly path: string;
  /** Where no Host is sent. */
  readonly authority: string;
}

/** Of one hop of HTTP/1.1. RFC 9113 knows none of them, and the gateway has dropped what a client sent of them. */
const NOT_IN_HTTP2: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade']);

/**
 * The headers of a request in the form of HTTP/2. Lines of one name stay lines; where node sends one only, it throws.
 *
 * @param list names and values alternating
 */
export function http2RequestHeaders({ method, path, authority }: RequestLine, list: readonly string[]): OutgoingHttpHeaders {
  const headers = Object.create(null) as OutgoingHttpHeaders;
  headers[':method'] = method;
  headers[':scheme'] = 'http';
  headers[':authority'] = authority;
  headers[':path'] = path;
  for (let i = 0; i < list.length; i += 2) {
    const name = list[i]!.toLowerCase();
    if (name === 'host') headers[':authority'] = list[i + 1]!;
    else if (!NOT_IN_HTTP2.has(name)) add(headers, name, list[i + 1]!);
  }
  return headers;
}

export function http2Trailers(list: readonly (readonly [name: string, value: string])[]): OutgoingHttpHeaders {
  const headers = Object.create(null) as OutgoingHttpHeaders;
  for (const [name, value] of list) add(headers, name.toLowerCase(), value);
  return headers;
}

function add(headers: OutgoingHttpHeaders, name: string, value: string): void {
  const before = headers[name] as string | string[] | undefined;
  headers[name] = before === undefined ? value : Array.isArray(before) ? [...before, value] : [before, value];
}

/** Of the headers of an answer, as of one of HTTP/1.1. */
export const MOST_HEADER_BYTES = 16 * 1024;

/**
 * Headers as they came, without those that begin with a colon, as bytes. They are counted here, because nghttp2 keeps to the bound only once the upstream has acknowledged it.
 *
 * @throws HeadersOverflowError
 */
export function rawHeadersOf(raw: readonly string[]): Buffer[] {
  const headers: Buffer[] = [];
  let bytes = 0;
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]!;
    bytes += name.length + raw[i + 1]!.length;
    if (bytes > MOST_HEADER_BYTES) throw new errors.HeadersOverflowError();
    if (!name.startsWith(':')) headers.push(Buffer.from(name, 'latin1'), Buffer.from(raw[i + 1]!, 'latin1'));
  }
  return headers;
}

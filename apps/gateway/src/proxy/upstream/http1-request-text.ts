/** A request as it goes to an upstream of HTTP/1.1. */
export interface Http1Request {
  readonly method: string;
  readonly path: string;
  /** Names and values alternating, without those that depend on the connection and on how the body is sent. */
  readonly headers: readonly string[];
  readonly body: Buffer | null;
}

const NOT_IN_PATHS = /[^\x21-\x7e]/;
const NOT_IN_NAMES = /[^!#$%&'*+.^_`|~0-9A-Za-z-]/;
const NOT_IN_VALUES = /[^\t\x20-\x7e\x80-\xff]/;

/** They announce a body, also that there is none. */
const WITH_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'QUERY', 'PROPFIND', 'PROPPATCH']);

/** Up to so many bytes a body is copied behind its head: that costs less than two writes. */
const COPIED_BODY_BYTES = 16 * 1024;

/** Whether it can be written without becoming another request. */
export function isWritable({ path, headers }: Http1Request): boolean {
  if (NOT_IN_PATHS.test(path)) return false;
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i] === '' || NOT_IN_NAMES.test(headers[i]!) || NOT_IN_VALUES.test(headers[i + 1]!)) return false;
  }
  return true;
}

/**
 * The head, and the body if it is short: the same bytes that undici would write.
 *
 * @param authority where the headers have no Host
 * @param closes whether the connection ends with the answer
 * @returns one byte to a character; `body` is what has to follow
 */
export function requestText(request: Http1Request, authority: string, closes: boolean): { text: string; body: Buffer | null } {
  const { body, headers, method, path } = request;
  let host = authority;
  let lines = '';
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    if (name.length === 4 && name.toLowerCase() === 'host') host = headers[i + 1]!;
    else lines += `${name}: ${headers[i + 1]!}\r\n`;
  }
  const length = body?.length ?? 0;
  const announced = length > 0 || WITH_BODY.has(method) ? `content-length: ${length}\r\n` : '';
  const text = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: ${closes ? 'close' : 'keep-alive'}\r\n${lines}${announced}\r\n`;
  if (body === null || length > COPIED_BODY_BYTES) return { text, body: length === 0 ? null : body };
  return { text: text + body.toString('latin1'), body: null };
}

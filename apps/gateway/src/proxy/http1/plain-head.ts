import { plainHeaders } from '#edge';

/** The head of a request that every server reads in the same way. */
export interface PlainHead {
  readonly method: string;
  readonly target: string;
  /** Names and values alternating, as node hands them out. */
  readonly rawHeaders: readonly string[];
  /** Bytes of the body that follow. */
  readonly bodyLength: number;
  /** Bytes of the head. */
  readonly length: number;
}

const HEAD_END = '\r\n\r\n';
/** Half of what node takes by default: who needs more is unusual. */
const MOST_HEAD_BYTES = 8 * 1024;
/** Methods that everybody knows, and targets of path and query in the characters of RFC 3986. */
const REQUEST_LINE = /^(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) (\/[A-Za-z0-9\-._~%!$&'()*+,;=:@/?]*) HTTP\/1\.1(?=\r\n)/;
/** Without a sign, and without zeros in front of others. */
const LENGTH = /^(?:0|[1-9]\d{0,14})$/;

/**
 * The head with which a chunk begins, if it is whole and there is nothing in it about which two servers could disagree: HTTP/1.1, one length of the body or none, and
 * nothing that says what becomes of the connection. Undefined for anything else, which is left to the parser of node, whether it is wrong or only unusual. What the headers say
 * of the sender, how often and how well, is looked at behind this, as of any request.
 */
export function plainHead(chunk: Buffer): PlainHead | undefined {
  const end = chunk.indexOf(HEAD_END);
  if (end === -1 || end > MOST_HEAD_BYTES) return undefined;
  const text = chunk.toString('latin1', 0, end);
  const [requestLine, method, target] = REQUEST_LINE.exec(text) ?? [];
  if (requestLine === undefined) return undefined;
  const rawHeaders = plainHeaders(text, requestLine.length);
  const bodyLength = rawHeaders === undefined ? undefined : lengthIn(rawHeaders);
  if (bodyLength === undefined) return undefined;
  return { method: method!, target: target!, rawHeaders: rawHeaders!, bodyLength, length: end + HEAD_END.length };
}

const NAME = 'content-length';

/** 0 if none is declared; undefined if there are two, or it is no number. */
function lengthIn(rawHeaders: readonly string[]): number | undefined {
  let length: number | undefined;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    if (name.length !== NAME.length || name.toLowerCase() !== NAME) continue;
    const value = rawHeaders[i + 1]!;
    if (length !== undefined || !LENGTH.test(value)) return undefined;
    length = Number(value);
  }
  return length ?? 0;
}

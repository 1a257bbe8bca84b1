import { isRequestId, plainHeaders } from '#edge';
import { isJsonType } from './request-body.js';

/** The head of a request that can be read in one way only, and of which all that matters has been looked at. */
export interface PlainHead {
  /** As it came, up to the digits of the length of the body. */
  readonly before: Buffer;
  /** As it came behind them, with the empty line at its end. */
  readonly behind: Buffer;
  readonly path: string;
  /** The caller's own, if it was valid. */
  readonly requestId: string | undefined;
  /** Those that say who asks. */
  readonly headers: { readonly authorization?: string; readonly 'x-tollgate-token'?: string };
}

const HEAD_END = '\r\n\r\n';
const MOST_HEAD_BYTES = 8 * 1024;
const REQUEST_LINE = /^POST (\/[\w/]*) HTTP\/1\.1(?=\r\n)/;
const LENGTH = /\r\ncontent-length:[\t ]*/i;
/** Without a sign, and without zeros in front of others. */
const DIGITS = /^[1-9]\d{0,5}$/;
const MOST_DIGITS = 6;
const [ZERO, NINE] = [0x30, 0x39];

/** Once at most. */
const LOOKED_AT = new Set(['host', 'content-length', 'content-type', 'x-request-id', 'authorization', 'x-tollgate-token']);

/**
 * The head of the request with which a chunk begins, if there is nothing in it about which two servers could disagree: a POST with a length, JSON, each header that
 * matters once. Undefined for anything else, which is left to the parser of node, whether it is wrong or only unusual.
 */
export function plainHead(chunk: Buffer): PlainHead | undefined {
  const end = chunk.indexOf(HEAD_END);
  if (end === -1 || end > MOST_HEAD_BYTES) return undefined;
  const text = chunk.toString('latin1', 0, end);
  const [requestLine, path] = REQUEST_LINE.exec(text) ?? [];
  if (requestLine === undefined || path === undefined) return undefined;
  const headers = headersIn(plainHeaders(text, requestLine.length));
  if (headers === undefined) return undefined;
  const { host, 'content-length': length = '', 'content-type': type = '', 'x-request-id': requestId = '', ...credentials } = headers;
  if (host === undefined || !DIGITS.test(length) || !isJsonType(type)) return undefined;
  const line = LENGTH.exec(text)!;
  const digitsAt = line.index + line[0].length;
  return {
    // Copies: the chunk is larger.
    before: Buffer.from(chunk.subarray(0, digitsAt)),
    behind: Buffer.from(chunk.subarray(digitsAt + length.length, end + HEAD_END.length)),
    path,
    requestId: isRequestId(requestId) ? requestId : undefined,
    headers: credentials,
  };
}

/** Those that are looked at, by their names in lower case; undefined if something is to be left to node. @param list names and values alternating */
function headersIn(list: readonly string[] | undefined): Record<string, string> | undefined {
  if (list === undefined) return undefined;
  const headers: Record<string, string> = {};
  for (let i = 0; i < list.length; i += 2) {
    const name = list[i]!.toLowerCase();
    if (!LOOKED_AT.has(name)) continue;
    if (headers[name] !== undefined) return undefined;
    headers[name] = list[i + 1]!;
  }
  return headers;
}

/** Whether a chunk begins with this head, but for the length of the body. */
export function beginsWith(chunk: Buffer, { before, behind }: PlainHead): boolean {
  if (chunk.length <= before.length + behind.length || before.compare(chunk, 0, before.length) !== 0) return false;
  const at = endOfDigits(chunk, before.length);
  return at + behind.length <= chunk.length && behind.compare(chunk, at, at + behind.length) === 0;
}

/** Where the body of a request begins that has this head. */
export function bodyStart(chunk: Buffer, { before, behind }: PlainHead): number {
  return endOfDigits(chunk, before.length) + behind.length;
}

/** How many bytes of the body are still to come; below 0 if the chunk has something behind the body; NaN for a length that is left to node. */
export function bytesToCome(chunk: Buffer, { before, behind }: PlainHead): number {
  const digitsEnd = endOfDigits(chunk, before.length);
  if (digitsEnd === before.length || chunk[before.length] === ZERO) return NaN;
  let length = 0;
  for (let at = before.length; at < digitsEnd; at++) length = length * 10 + chunk[at]! - ZERO;
  return digitsEnd + behind.length + length - chunk.length;
}

/** Of so many as `DIGITS` has at most. */
function endOfDigits(chunk: Buffer, from: number): number {
  const to = Math.min(from + MOST_DIGITS, chunk.length);
  let at = from;
  while (at < to && chunk[at]! >= ZERO && chunk[at]! <= NINE) at++;
  return at;
}

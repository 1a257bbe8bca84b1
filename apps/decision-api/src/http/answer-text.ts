import { STATUS_CODES } from 'node:http';
import { httpDate } from '#edge';
import type { Answer } from './answer.js';

/** What node refuses to write in a header, and what takes more than a byte in UTF-8. */
const NOT_IN_HEADERS = /[^\t\x20-\x7e]/;

export interface AnswerText {
  readonly text: string;
  /** One byte to a character where that is enough. */
  readonly encoding: 'utf8' | 'latin1';
}

/**
 * An answer as it stands on the wire: the same bytes that node:http writes for it.
 *
 * @param keepAliveMs for how long the connection is kept; undefined: it closes
 * @throws TypeError for a header that cannot be written
 */
export function answerText({ status, headers, body = '' }: Answer, requestId: string, keepAliveMs: number | undefined): AnswerText {
  const bytes = Buffer.byteLength(body);
  let fields = '';
  for (let i = 0; i < headers.length; i += 2) fields += `${headers[i]}: ${written(headers[i + 1]!)}\r\n`;
  const ending =
    keepAliveMs === undefined
      ? `Connection: close\r\nDate: ${httpDate()}\r\n`
      : `Date: ${httpDate()}\r\nConnection: keep-alive\r\nKeep-Alive: timeout=${Math.trunc(keepAliveMs / 1000)}\r\n`;
  const text = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${fields}Content-Length: ${bytes}\r\nX-Request-Id: ${requestId}\r\nCache-Control: no-store\r\n${ending}\r\n${body}`;
  return { text, encoding: bytes === body.length ? 'latin1' : 'utf8' };
}

/** Nearly all are the same few. */
let lastWritten = '';

function written(value: string): string {
  if (value === lastWritten) return value;
  if (NOT_IN_HEADERS.test(value)) throw new TypeError('a header cannot be written');
  lastWritten = value;
  return value;
}

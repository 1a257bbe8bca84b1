import type { ServerResponse } from 'node:http';
import { endInOnePiece, type Refusal } from '#edge';
import { PROBLEM_CONTENT_TYPE, problemBody, type ProblemError } from '#platform';

/** What a caller is answered. */
export interface Answer {
  readonly status: number;
  /** Flat list of names and values. */
  readonly headers: readonly string[];
  /** Undefined: there is none. */
  readonly body?: string | undefined;
}

const NO_HEADERS: readonly string[] = [];
const JSON_TYPE = ['Content-Type', 'application/json'];
const PROBLEM_TYPE = ['Content-Type', PROBLEM_CONTENT_TYPE];

export function jsonAnswer(value: unknown, status = 200, headers: readonly string[] = NO_HEADERS): Answer {
  return jsonTextAnswer(JSON.stringify(value), status, headers);
}

/** @param text JSON */
export function jsonTextAnswer(text: string, status = 200, headers: readonly string[] = NO_HEADERS): Answer {
  return { status, headers: headers.length === 0 ? JSON_TYPE : [...JSON_TYPE, ...headers], body: text };
}

export function problemAnswer(problem: ProblemError, requestId: string): Answer {
  const headers = Object.entries(problem.headers).flat();
  return { status: problem.status, headers: [...PROBLEM_TYPE, ...headers], body: JSON.stringify({ ...problemBody(problem), requestId }) };
}

/** What a gateway would have answered. */
export function refusalAnswer({ status, headers, body }: Omit<Refusal, 'forward'>): Answer {
  return { status, headers: [...PROBLEM_TYPE, ...headers], body };
}

/** @param closes whether the connection ends with the answer */
export function sendAnswer(response: ServerResponse, { status, headers, body = '' }: Answer, requestId: string, closes: boolean): void {
  const length = Buffer.byteLength(body);
  const out = [...headers, 'Content-Length', String(length), 'X-Request-Id', requestId, 'Cache-Control', 'no-store'];
  if (closes) out.push('Connection', 'close');
  response.writeHead(status, out);
  // If each character is a byte; otherwise node would encode the headers along with it.
  if (length === body.length) endInOnePiece(response, body);
  else response.end(Buffer.from(body));
}

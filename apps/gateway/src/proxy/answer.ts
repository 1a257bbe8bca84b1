import { endInOnePiece } from '#edge';
import type { AnsweredConnection, ClientRequest, ClientResponse } from './messages/client-message.js';
import { hasName } from './messages/hop-by-hop.js';
import { CHUNKED } from './messages/request-hygiene.js';

/** Up to this declared length, the rest of a refused body is read so that the connection can go on. */
const DRAINED_BODY_BYTES = 64 * 1024;

/** An answer that does not come from the upstream. */
export interface OwnAnswer {
  status: number;
  /** Flat list of names and values. */
  headers: readonly string[];
  body: string;
}

/** How an answer of the gateway looks to a client. It must not throw. @param sent the values of a header of the client, by its name in lower case */
export type Present = (answer: OwnAnswer, sent: (name: string) => readonly string[]) => OwnAnswer;

/**
 * Answers without the upstream and without waiting for the request's body. The connection goes on if the body
 * has arrived or is declared to be small; otherwise it is closed after the answer.
 *
 * @param bodyLength of the request in bytes, or `CHUNKED`, also when it cannot be told
 * @returns whether the connection closes after the answer
 */
export function sendAnswer(
  response: ClientResponse,
  request: ClientRequest,
  connection: AnsweredConnection,
  requestId: string,
  answer: OwnAnswer,
  bodyLength: number,
): boolean {
  const { status, headers, body } = answer;
  const close = connection.endsAfterCurrent;
  const length = Buffer.byteLength(body);
  const bodyMissing = bodyLength !== 0 && !request.complete;
  const tooLong = bodyLength === CHUNKED || bodyLength > DRAINED_BODY_BYTES;
  const out: string[] = [];
  if (!hasName(headers, 'content-type')) out.push('Content-Type', 'application/problem+json');
  for (let i = 0; i < headers.length; i++) out.push(headers[i]!);
  out.push('Content-Length', String(length), 'X-Request-Id', requestId);
  if (close || (bodyMissing && tooLong)) out.push('Connection', 'close');
  response.writeHead(status, out);
  // Node also closes after a refused `Expect: 100-continue`, whether its body came unasked or not, and has said so in the headers.
  const closes = close || !response.shouldKeepAlive || (bodyMissing && tooLong);
  if (bodyMissing) {
    if (closes) connection.linger(request);
    else connection.cutUnlessComplete(request);
  }
  // If each character is a byte; otherwise node would encode the headers along with it.
  if (length === body.length) endInOnePiece(response, body);
  else response.end(Buffer.from(body));
  return closes;
}

/** A response of node, of HTTP/1.1 or made like one. */
interface EndedResponse {
  end(body?: Buffer): unknown;
  end(body: string, encoding: 'latin1'): unknown;
}

/** Bodies up to this many bytes are copied next to their headers: that costs less than a write of several pieces. */
const COPIED_BODY_BYTES = 16 * 1024;

/** Ends a response with its whole body. */
export function endWithBody(response: EndedResponse, body: Buffer): void {
  if (body.length <= COPIED_BODY_BYTES) endInOnePiece(response, body.toString('latin1'));
  else response.end(body);
}

/**
 * Ends a response whose headers are written, with its whole body, in one write of one string.
 *
 * `response.end(body)` makes node hand two pieces to the kernel, the second one empty, and a write of several pieces costs a tenth of what
 * a short answer costs in all. So the body goes behind the headers that node holds back until the first write.
 *
 * @param body one byte to a character
 */
export function endInOnePiece(response: EndedResponse, body: string): void {
  const held = response as unknown as { _header: unknown; _headerSent: unknown; _hasBody: unknown; chunkedEncoding: unknown };
  // What node does not document may change: if anything differs from what is known, the body goes the usual way.
  if (typeof held._header !== 'string' || held._headerSent !== false || held._hasBody !== true || held.chunkedEncoding) {
    response.end(body, 'latin1');
    return;
  }
  held._header += body;
  response.end();
}

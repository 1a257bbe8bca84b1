import { METHODS } from './methods.js';

const TEMPORARY_REDUCED_CAPACITY = 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity';

/** An answer that the proxy gives by itself, as RFC 9457 problem details. All but the request id is prepared. */
export class Problem {
  private readonly start: string;

  constructor(
    readonly status: number,
    readonly title: string,
    detail: string,
    /** Flat list of names and values of additional response headers. */
    readonly headers: readonly string[] = [],
    type = 'about:blank',
    /** Further members of the body. */
    extensions: Readonly<Record<string, string>> = {},
  ) {
    const members = JSON.stringify({ type, title, status, detail, ...extensions });
    this.start = `${members.slice(0, -1)},"requestId":"`;
  }

  /** @param requestId needs no escaping, see `isRequestId`. */
  body(requestId: string): string {
    return `${this.start}${requestId}"}`;
  }
}

const badRequest = (detail: string): Problem => new Problem(400, 'Bad Request', detail);
const notImplemented = (detail: string): Problem => new Problem(501, 'Not Implemented', detail);
const unavailable = (detail: string): Problem =>
  new Problem(503, 'Service Unavailable', detail, ['Retry-After', '1'], TEMPORARY_REDUCED_CAPACITY);

/** A path that servers read differently; `rule` is the one of the path policy that it breaks. */
export function pathProblem(rule: string, what: string): Problem {
  const detail = `The path has ${what}, which servers read in different ways.`;
  return new Problem(400, 'Bad Request', detail, [], undefined, { rule });
}

export const PROBLEMS = {
  malformed: badRequest('The request is not valid HTTP/1.1.'),
  notForwardable: badRequest('The request contains something that cannot be forwarded.'),
  hostMissing: badRequest('The Host header is missing or empty.'),
  hostDuplicate: badRequest('There is more than one Host header.'),
  hostInvalid: badRequest('The Host header is not a host with an optional port.'),
  targetForm: badRequest('The request target has to be a path that starts with a slash.'),
  targetCharacters: badRequest('The request target contains characters that have to be percent-encoded.'),
  transferEncoding: badRequest('The only supported Transfer-Encoding is "chunked".'),
  transferEncodingInHttp10: badRequest('HTTP/1.0 has no Transfer-Encoding.'),
  framingAmbiguous: badRequest('Transfer-Encoding and Content-Length exclude each other.'),
  connectionOptions: badRequest('The Connection header has too many options.'),
  methodNotAllowed: new Problem(405, 'Method Not Allowed', 'This method is not supported.', ['Allow', METHODS.join(', ')]),
  requestTimeout: new Problem(408, 'Request Timeout', 'The request headers did not arrive in time.'),
  chunkExtensions: new Problem(413, 'Content Too Large', 'The chunk extensions of the request body are too large.'),
  expectation: new Problem(417, 'Expectation Failed', 'The only supported expectation is "100-continue".'),
  headersTooLarge: new Problem(431, 'Request Header Fields Too Large', 'The request headers are too large.'),
  internal: new Problem(500, 'Internal Server Error', 'The gateway failed to decide about the request.'),
  connect: notImplemented('The method CONNECT is not supported.'),
  asterisk: notImplemented('The request target "*" is not supported.'),
  upgrade: notImplemented('Upgrading to another protocol is not supported.'),
  httpVersion: new Problem(505, 'HTTP Version Not Supported', 'The supported versions are HTTP/1.1 and HTTP/1.0.'),
  badGateway: new Problem(502, 'Bad Gateway', 'The upstream could not be reached or gave no valid answer.'),
  overloaded: unavailable('The gateway has too many requests in flight.'),
  tooManyWaiting: unavailable('Too many pipelined requests wait for their answers. This one and what follows it was not looked at.'),
  stopping: unavailable('The gateway is stopping.'),
  gatewayTimeout: new Problem(504, 'Gateway Timeout', 'The upstream did not answer in time.'),
  bodyTimeout: new Problem(408, 'Request Timeout', 'The request body arrived too slowly. Send the whole body without pauses.'),
  merchantInFlight: unavailable('This merchant has too many requests in flight. Wait for answers before you send more.'),
  upstreamQueue: unavailable(
    'No connection to the upstream came free in time. The request was not forwarded and cost nothing; send it again later, and fewer at a time.',
  ),
  bufferedBytes: unavailable(
    'Too many request bodies wait in memory. The request was not forwarded and cost nothing; send it again later, and fewer at a time.',
  ),
} as const;

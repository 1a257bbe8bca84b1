import { Problem, TARGET_CHARACTERS, TARGET_FORM } from '#edge';
import { METHODS } from './messages/methods.js';

export { Problem };

const badRequest = (code: string, detail: string): Problem => new Problem(400, 'Bad Request', 'bad-request', code, detail);
const notImplemented = (code: string, detail: string): Problem => new Problem(501, 'Not Implemented', 'not-implemented', code, detail);
const unavailable = (code: string, detail: string): Problem =>
  new Problem(503, 'Service Unavailable', 'temporary-reduced-capacity', code, detail, { headers: ['Retry-After', '1'] });

export const PROBLEMS = {
  malformed: badRequest('request.malformed', 'The request is not valid HTTP/1.1.'),
  notForwardable: badRequest('request.not_forwardable', 'The request contains something that cannot be forwarded.'),
  hostMissing: badRequest('host.missing', 'The Host header is missing or empty.'),
  hostDuplicate: badRequest('host.repeated', 'There is more than one Host header.'),
  hostDiffers: badRequest('host.differs', 'The Host header and :authority name different hosts.'),
  scheme: badRequest('target.scheme', 'The scheme of the request is not https, as that of its connection is.'),
  hostInvalid: badRequest('host.malformed', 'The Host header is not a host with an optional port.'),
  targetForm: TARGET_FORM,
  targetCharacters: TARGET_CHARACTERS,
  transferEncoding: badRequest('transfer_encoding.not_supported', 'The only supported Transfer-Encoding is "chunked".'),
  transferEncodingInHttp10: badRequest('transfer_encoding.in_http_1_0', 'HTTP/1.0 has no Transfer-Encoding.'),
  framingAmbiguous: badRequest('body.ambiguous_length', 'Transfer-Encoding and Content-Length exclude each other.'),
  connectionOptions: badRequest('connection.too_many_options', 'The Connection header has too many options.'),
  methodNotAllowed: new Problem(405, 'Method Not Allowed', 'method-not-allowed', 'method.not_allowed', 'This method is not supported.', {
    headers: ['Allow', METHODS.join(', ')],
  }),
  noRoute: new Problem(404, 'Not Found', 'not-found', 'route.not_found', 'No route of the gateway leads there.'),
  bodyTooLarge: new Problem(
    413,
    'Content Too Large',
    'content-too-large',
    'body.too_large',
    'The body of the request is larger than this route allows.',
  ),
  requestTimeout: new Problem(408, 'Request Timeout', 'request-timeout', 'request.too_slow', 'The request headers did not arrive in time.'),
  chunkExtensions: new Problem(
    413,
    'Content Too Large',
    'content-too-large',
    'body.chunk_extensions_too_large',
    'The chunk extensions of the request body are too large.',
  ),
  expectation: new Problem(
    417,
    'Expectation Failed',
    'expectation-failed',
    'expectation.not_supported',
    'The only supported expectation is "100-continue".',
  ),
  headersTooLarge: new Problem(
    431,
    'Request Header Fields Too Large',
    'request-header-fields-too-large',
    'headers.too_large',
    'The request headers are too large.',
  ),
  internal: new Problem(
    500,
    'Internal Server Error',
    'internal-server-error',
    'gateway.failed',
    'The gateway failed to decide about the request.',
  ),
  connect: notImplemented('method.connect', 'The method CONNECT is not supported.'),
  asterisk: notImplemented('target.asterisk', 'The request target "*" is not supported.'),
  upgrade: notImplemented(
    'request.upgrade',
    'The only protocol to which a connection can be upgraded is WebSocket, by an opening handshake of version 13 (RFC 6455).',
  ),
  httpVersion: new Problem(
    505,
    'HTTP Version Not Supported',
    'http-version-not-supported',
    'request.http_version',
    'The supported versions are HTTP/1.1 and HTTP/1.0, and HTTP/2 where TLS negotiates it.',
  ),
  badGateway: new Problem(
    502,
    'Bad Gateway',
    'bad-gateway',
    'upstream.failed',
    'The upstream could not be reached or gave no valid answer.',
  ),
  overloaded: unavailable('gateway.too_many_requests', 'The gateway has too many requests in flight.'),
  tooManyWaiting: unavailable(
    'connection.too_many_waiting',
    'Too many pipelined requests wait for their answers. This one and what follows it was not looked at.',
  ),
  stopping: unavailable('gateway.stopping', 'The gateway is stopping.'),
  gatewayTimeout: new Problem(504, 'Gateway Timeout', 'gateway-timeout', 'upstream.too_slow', 'The upstream did not answer in time.'),
  bodyTimeout: new Problem(
    408,
    'Request Timeout',
    'request-timeout',
    'body.too_slow',
    'The request body arrived too slowly. Send the whole body without pauses.',
  ),
  merchantInFlight: unavailable(
    'merchant.too_many_requests',
    'This merchant has too many requests in flight. Wait for answers before you send more.',
  ),
  tooManyWebSockets: unavailable(
    'websocket.too_many',
    'Too many WebSockets are open. This one was not forwarded and cost nothing; close others before you open more.',
  ),
  upstreamQueue: unavailable(
    'upstream.no_connection',
    'No connection to the upstream came free in time. The request was not forwarded and cost nothing; send it again later, and fewer at a time.',
  ),
  overload: new Problem(
    503,
    'Service Unavailable',
    'temporary-reduced-capacity',
    'upstream.overloaded',
    'The upstream has too much to do, and serves more critical requests first. The request was not forwarded and cost nothing; send it again later.',
    // Longer than other refusals say: what matters least comes back last.
    { headers: ['Retry-After', '5'] },
  ),
  bufferedBytes: unavailable(
    'gateway.too_many_bodies',
    'Too many request bodies wait in memory. The request was not forwarded and cost nothing; send it again later, and fewer at a time.',
  ),
} as const;

import { PROBLEMS, type Problem } from '../problems.js';

/** The ways in which an exchange with the upstream fails; also the values of a metric's label. */
export const UPSTREAM_FAILURES = [
  'connect',
  'connect_timeout',
  'headers_timeout',
  'body_timeout',
  'reset',
  'invalid_response',
  'not_forwardable',
  'stopping',
] as const;

export type UpstreamFailure = (typeof UPSTREAM_FAILURES)[number];

/**
 * What an error from undici means.
 *
 * @param connected whether the request had got a connection to the upstream
 */
export function upstreamFailure(error: Error, connected: boolean): UpstreamFailure {
  const code = (error as NodeJS.ErrnoException).code;
  switch (code) {
    case 'UND_ERR_CONNECT_TIMEOUT':
      return 'connect_timeout';
    case 'UND_ERR_HEADERS_TIMEOUT':
      return 'headers_timeout';
    case 'UND_ERR_BODY_TIMEOUT':
      return 'body_timeout';
    case 'UND_ERR_INVALID_ARG':
    case 'UND_ERR_NOT_SUPPORTED':
      return 'not_forwardable';
    case 'UND_ERR_DESTROYED':
    case 'UND_ERR_CLOSED':
      return 'stopping';
    case 'UND_ERR_HEADERS_OVERFLOW':
    case 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH':
    case 'ERR_INVALID_CHAR':
    case 'ERR_HTTP_INVALID_STATUS_CODE':
      return 'invalid_response';
    default:
      if (error.name === 'HTTPParserError') return 'invalid_response';
      return connected ? 'reset' : 'connect';
  }
}

/** What the client is told about a failure. */
export function problemOf(failure: UpstreamFailure): Problem {
  switch (failure) {
    case 'connect_timeout':
    case 'headers_timeout':
    case 'body_timeout':
      return PROBLEMS.gatewayTimeout;
    case 'not_forwardable':
      return PROBLEMS.notForwardable;
    case 'stopping':
      return PROBLEMS.stopping;
    default:
      return PROBLEMS.badGateway;
  }
}

/** Whether a status of the upstream, or a failure of it, says that it has too much to do. A broken answer does not. */
export function saysOverload(what: number | UpstreamFailure): boolean {
  return typeof what === 'number' ? what === 429 || what === 503 || what === 504 : OVERLOADED.includes(what);
}

const OVERLOADED: readonly UpstreamFailure[] = ['connect', 'connect_timeout', 'headers_timeout', 'reset'];

import { clientAddress, type KnownAddresses, rawValues } from '#edge';
import { ProblemError } from '#platform';
import { TOKEN_HEADER } from '../callers/callers.js';
import type { CheckRequest } from '../decisions/check-request.js';
import { HOST, METHOD, TARGET, WITHOUT_BODY } from '../decisions/request-texts.js';
import { untrustedPeer } from '../problems.js';
import { clientHeaders } from '../forward-auth/client-headers.js';
import { merchantIn, userIn } from '../forward-auth/identity-headers.js';
import { PARTIAL_BODY_HEADER } from './sent-body.js';

/** The `path_prefix` of Envoy's configuration. */
export const EXT_AUTHZ_PREFIX = '/v1/ext-authz';

/** What is said by Envoy, and not by its client. */
const OF_ENVOY = new Set([
  TOKEN_HEADER,
  'x-merchant-id',
  'x-user-id',
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  PARTIAL_BODY_HEADER,
]);

/** A request of a client as Envoy's filter ext_authz repeats it by HTTP, below a prefix. */
export interface PrefixedRequest {
  readonly method: string;
  /** Path and query, with the prefix. */
  readonly target: string;
  /** Names and values alternating, as Node decodes them. */
  readonly rawHeaders: readonly string[];
  /** In canonical text. */
  readonly peer: string;
}

/**
 * The request about which Envoy asks by repeating it. Method, path and host are those with which this call came, and no header says otherwise: a client could have sent it.
 *
 * @throws ProblemError
 */
export function prefixedRequest({ method, target, rawHeaders, peer }: PrefixedRequest, known: KnownAddresses): CheckRequest {
  if (known.lookUp(peer)?.trusted !== true) throw untrustedPeer('ext_authz');
  const path = target.slice(EXT_AUTHZ_PREFIX.length);
  if (!METHOD.test(method)) throw malformed('method', 'is no HTTP method in capitals');
  if (!TARGET.test(path)) throw malformed('path', 'is no path of printable ASCII that begins with a slash, or is too long');
  const forwardedFor = rawValues(rawHeaders, 'x-forwarded-for').join(',');
  const [host = '', ...otherHosts] = rawValues(rawHeaders, 'host');
  return {
    merchant: merchantIn(rawHeaders),
    user: userIn(rawHeaders),
    ip: forwardedFor === '' ? undefined : clientAddress(peer, forwardedFor, known),
    method,
    path,
    host: otherHosts.length === 0 && HOST.test(host) ? host : undefined,
    headers: clientHeaders(rawHeaders, OF_ENVOY),
    bodyUnknown: !WITHOUT_BODY.includes(method) || hasBody(rawHeaders),
  };
}

function malformed(what: string, why: string): ProblemError {
  return new ProblemError({ status: 400, code: 'ext_authz.malformed', detail: `the ${what} of the request ${why}` });
}

function hasBody(rawHeaders: readonly string[]): boolean {
  return rawValues(rawHeaders, 'content-length').some((length) => length !== '0') || rawValues(rawHeaders, 'transfer-encoding').length > 0;
}

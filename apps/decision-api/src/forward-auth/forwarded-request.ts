import { clientAddress, type KnownAddresses, rawValues } from '#edge';
import { ProblemError } from '#platform';
import { TOKEN_HEADER } from '../callers/callers.js';
import type { CheckRequest } from '../decisions/check-request.js';
import { HOST, METHOD, TARGET, WITHOUT_BODY } from '../decisions/request-texts.js';
import { untrustedPeer } from '../problems.js';
import { clientHeaders } from './client-headers.js';
import { merchantIn, userIn } from './identity-headers.js';

/** In which proxies say what they were asked: those of Traefik and Caddy, and those that nginx is mostly given. */
const METHOD_HEADERS = ['x-forwarded-method', 'x-original-method'];
const URI_HEADERS = ['x-forwarded-uri', 'x-original-uri', 'x-original-url'];
const HOST_HEADERS = ['x-forwarded-host', 'x-original-host'];

/** What is said by the proxy, and not by its client. */
const OF_THE_PROXY = new Set([
  TOKEN_HEADER,
  'x-merchant-id',
  'x-user-id',
  'host',
  'connection',
  'content-length',
  ...METHOD_HEADERS,
  ...URI_HEADERS,
]);

/** As ingress-nginx sends it. */
const ORIGIN = /^https?:\/\/[^/?#]*/i;

/** The sub-request of a proxy. */
export interface SubRequest {
  /** Names and values alternating, as Node decodes them. */
  readonly rawHeaders: readonly string[];
  /** In canonical text. */
  readonly peer: string;
}

/**
 * The request about which a proxy asks by a sub-request. Who is asking is believed of a trusted proxy, as a gateway believes it. A header that comes twice, or two that
 * say different things, are refused: the proxy goes by one of them, and nobody knows by which.
 *
 * @throws ProblemError
 */
export function forwardedRequest({ rawHeaders, peer }: SubRequest, known: KnownAddresses): CheckRequest {
  if (known.lookUp(peer)?.trusted !== true) throw untrustedPeer('forward_auth');
  const method = theOne(rawHeaders, METHOD_HEADERS, 'method');
  if (!METHOD.test(method)) throw malformed('method', 'is no HTTP method in capitals');
  const path = theOne(rawHeaders, URI_HEADERS, 'path').replace(ORIGIN, '') || '/';
  if (!TARGET.test(path)) throw malformed('path', 'is no path of printable ASCII that begins with a slash, or is too long');
  const forwardedFor = rawValues(rawHeaders, 'x-forwarded-for').join(',');
  return {
    merchant: merchantIn(rawHeaders),
    user: userIn(rawHeaders),
    ip: forwardedFor === '' ? peer : clientAddress(peer, forwardedFor, known),
    method,
    path,
    host: hostIn(rawHeaders),
    headers: clientHeaders(rawHeaders, OF_THE_PROXY),
    bodyUnknown: !WITHOUT_BODY.includes(method),
  };
}

/** @throws ProblemError if there is none, or not one */
function theOne(rawHeaders: readonly string[], names: readonly string[], what: string): string {
  const values = names.flatMap((name) => rawValues(rawHeaders, name));
  const [value] = values;
  if (value === undefined)
    throw new ProblemError({
      status: 400,
      code: 'forward_auth.header_missing',
      detail: `the ${what} is expected in one of ${names.join(', ')}`,
    });
  if (values.length > 1)
    throw new ProblemError({
      status: 400,
      code: 'forward_auth.header_repeated',
      detail: `the ${what} is said more than once, in ${names.join(', ')}`,
    });
  return value;
}

function malformed(what: string, why: string): ProblemError {
  return new ProblemError({ status: 400, code: 'forward_auth.header_malformed', detail: `the ${what} of the request ${why}` });
}

/** One that is no host, or is said twice, is none that rules could match. */
function hostIn(rawHeaders: readonly string[]): string | undefined {
  const hosts = HOST_HEADERS.flatMap((name) => rawValues(rawHeaders, name));
  return hosts.length === 1 && HOST.test(hosts[0]!) ? hosts[0] : undefined;
}

import { clientAddress, type KnownAddresses } from '#edge';
import { parseAddress } from '#addresses';
import { isMerchantId, line } from '#limiter';
import { ProblemError } from '#platform';
import type { CheckRequest } from '../decisions/check-request.js';
import { HOST, METHOD, TARGET } from '../decisions/request-texts.js';
import { PARTIAL_BODY_HEADER, sentBody } from './sent-body.js';

/** envoy.service.auth.v3.AttributeContext as it is decoded. */
export interface AttributeContext {
  readonly source: { readonly address: { readonly socketAddress: { readonly address: string } | null } | null } | null;
  readonly request: { readonly http: AttributedRequest | null } | null;
  /** From the configuration of Envoy, which no client writes. */
  readonly contextExtensions: Readonly<Record<string, string>>;
}

interface AttributedRequest {
  readonly method: string;
  readonly path: string;
  readonly host: string;
  /** Names in lower case. Lines of one name are one, with commas between. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const USER = line(128);
const IDENTITY = ['x-merchant-id', 'x-user-id'];
/** Of the caller, or of other doors. */
const OURS = /^(?::|x-tollgate-|x-envoy-auth-partial-body$)/;

/**
 * The request about which Envoy asks by ext_authz. The merchant and the user are those of the route's `context_extensions`, or else of the headers that Envoy is configured to write.
 *
 * @throws ProblemError
 */
export function authorizedRequest(attributes: AttributeContext | null, known: KnownAddresses): CheckRequest {
  const http = attributes?.request?.http;
  if (!attributes || !http) throw malformed('request', 'is missing: only HTTP is asked about');
  const { method, path, host, headers } = http;
  if (!METHOD.test(method)) throw malformed('method', 'is no HTTP method in capitals');
  if (!TARGET.test(path)) throw malformed('path', 'is no path of printable ASCII that begins with a slash, or is too long');
  const told = Object.entries(headers).filter(([name]) => !OURS.test(name) && !IDENTITY.includes(name) && name !== 'host');
  return {
    merchant: merchantIn(attributes.contextExtensions['merchant'] ?? headers['x-merchant-id']),
    user: userIn(attributes.contextExtensions['user'] ?? headers['x-user-id'] ?? ''),
    ip: addressOf(attributes, headers['x-forwarded-for'] ?? '', known),
    method,
    path,
    host: HOST.test(host) ? host : undefined,
    headers: Object.fromEntries(told),
    ...bodyOf(http),
  };
}

function merchantIn(text: string | undefined): string {
  if (text === undefined || text === '')
    throw unidentified(401, 'identity.missing', 'neither context_extensions nor the header X-Merchant-Id names a merchant');
  if (!isMerchantId(text)) throw unidentified(400, 'identity.malformed', 'what names the merchant is no id of one');
  return text;
}

/** An empty text is what proxies send that know of no user. */
function userIn(text: string): string | undefined {
  if (text === '') return undefined;
  if (USER.fault(text) !== undefined) throw unidentified(400, 'user.malformed', 'what names the user is no id of one');
  return text;
}

function unidentified(status: 400 | 401, code: string, detail: string): ProblemError {
  return new ProblemError({ status, type: 'unidentified-merchant', code, detail });
}

function malformed(what: string, why: string): ProblemError {
  return new ProblemError({ status: 400, code: 'ext_authz.malformed', detail: `the ${what} ${why}` });
}

function addressOf({ source }: AttributeContext, forwardedFor: string, known: KnownAddresses): string | undefined {
  const address = parseAddress(source?.address?.socketAddress?.address ?? '')?.toString();
  return address === undefined || forwardedFor === '' ? address : clientAddress(address, forwardedFor, known);
}

function bodyOf({ method, headers, body }: AttributedRequest): Pick<CheckRequest, 'body' | 'bodyUnknown'> {
  return sentBody({ method, contentType: headers['content-type'] ?? '', isPartial: headers[PARTIAL_BODY_HEADER] === 'true', body });
}

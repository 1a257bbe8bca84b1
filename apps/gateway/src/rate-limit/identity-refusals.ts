import {
  HEADER_BAD_REQUEST,
  HEADER_CHALLENGE,
  HEADER_UNAUTHORIZED,
  type IdentityProblem,
  type Refusal,
  unavailable,
  unidentified,
} from '#edge';
import type { IdentityKind } from '#platform';
import type { CredentialProblem } from '../identity/index.js';

export interface IdentityRefusalOptions {
  /** By what the gateway knows merchants, in order. */
  readonly kinds: readonly IdentityKind[];
  /** The header in which API keys come as well; empty: none. */
  readonly apiKeyHeader?: string;
}

/** The answer for each reason for which the merchant is not known. */
export type IdentityRefusal = (problem: IdentityProblem | CredentialProblem, requestId: string) => Refusal;

/** The answer to a request whose merchant the gateway does not know. It names what this gateway accepts, and never what it was sent. */
export function createIdentityRefusal({ kinds, apiKeyHeader = '' }: IdentityRefusalOptions): IdentityRefusal {
  const accepted = kinds.map((kind) =>
    kind === 'api-key' && apiKeyHeader !== '' ? `${ACCEPTED[kind]} or ${apiKeyHeader}` : ACCEPTED[kind],
  );
  const missing = `The request does not say for which merchant it is. This gateway accepts: ${accepted.join('; ')}.`;
  const challenge = challengesFor(kinds);
  const unauthorized = (said: Unauthorized, requestId: string) =>
    unidentified(401, [said[0], said[1]], requestId, [
      'WWW-Authenticate',
      said[2] === undefined ? challenge : `${BEARER}, error="${said[2]}"`,
    ]);

  return (why, requestId) => {
    if (why === 'no_identity') return unauthorized(['identity.missing', missing], requestId);
    if (isOf(UNAUTHORIZED, why)) return unauthorized(UNAUTHORIZED[why], requestId);
    if (isOf(BAD_REQUEST, why)) return unidentified(400, BAD_REQUEST[why], requestId);
    const [code, detail] = UNAVAILABLE[why];
    return unavailable(code, detail, requestId);
  };
}

const ACCEPTED: Readonly<Record<IdentityKind, string>> = {
  header: 'the header X-Merchant-Id from a trusted address',
  'api-key': 'an API key in Authorization: Bearer tgk_...',
  jwt: 'a JWT in Authorization: Bearer eyJ...',
  certificate: 'a client certificate',
};

const BEARER = 'Bearer realm="tollgate"';

/** RFC 9110 wants one for each way that is open. */
function challengesFor(kinds: readonly IdentityKind[]): string {
  return [...new Set(kinds.map((kind) => (kind === 'header' || kind === 'certificate' ? HEADER_CHALLENGE : BEARER)))].join(', ');
}

/** Code, detail, and the error of RFC 6750 if a credential was sent. */
type Unauthorized = readonly [code: string, detail: string, error?: 'invalid_token'];
type Said = readonly [code: string, detail: string];

const UNAUTHORIZED = {
  ...HEADER_UNAUTHORIZED,
  invalid_token: ['identity.token_invalid', 'The token is not valid.', 'invalid_token'],
  expired_token: ['identity.token_expired', 'The token has expired.', 'invalid_token'],
  token_without_expiry: [
    'identity.token_expiry',
    'The token does not say when it expires: its claim exp has to be there, and a number.',
    'invalid_token',
  ],
  token_not_yet_valid: ['identity.token_not_yet_valid', 'The token is not valid yet.', 'invalid_token'],
  token_of_another_issuer: [
    'identity.token_issuer',
    'The token is of another issuer than the one that this gateway believes.',
    'invalid_token',
  ],
  token_for_another_audience: ['identity.token_audience', 'The token was made for another audience.', 'invalid_token'],
  token_without_merchant: ['identity.token_merchant', 'The claim of the token that names the merchant names none.', 'invalid_token'],
  token_user_unusable: [
    'identity.token_user',
    'The claim of the token that names the user is no text of 1 to 128 characters.',
    'invalid_token',
  ],
  invalid_api_key: ['identity.api_key_invalid', 'The API key is not valid.', 'invalid_token'],
  invalid_certificate: [
    'identity.certificate_malformed',
    'What a proxy says of the client certificate cannot be read, or is of more than one.',
  ],
  certificate_not_verified: ['identity.certificate_untrusted', 'The client certificate is of no authority that this gateway believes.'],
  certificate_expired: ['identity.certificate_expired', 'The client certificate has expired, or is not valid yet.'],
  certificate_without_merchant: [
    'identity.certificate_merchant',
    'The part of the client certificate that names the merchant names none, or more than one.',
  ],
} as const satisfies Record<string, Unauthorized>;

const BAD_REQUEST = {
  ...HEADER_BAD_REQUEST,
  duplicate_authorization: ['identity.authorization_repeated', 'There is more than one Authorization header.'],
  duplicate_certificate: ['identity.certificate_repeated', 'A proxy says more than once which certificate its client has.'],
  duplicate_api_key: ['identity.api_key_repeated', 'There is more than one API key.'],
} as const satisfies Record<string, Said>;

const UNAVAILABLE = {
  too_many_unknown_keys: ['identity.too_many_lookups', 'Too many API keys that do not exist were tried lately.'],
  too_many_tokens: ['identity.too_many_tokens', 'Too many tokens that this gateway has not seen before are being checked.'],
  token_keys_unavailable: ['identity.token_keys_unavailable', 'It cannot be said at the moment whether the token is valid.'],
  keys_unavailable: ['identity.keys_unavailable', 'It cannot be said at the moment whose API key this is.'],
} as const satisfies Record<string, Said>;

function isOf<T extends object>(table: T, key: string): key is Extract<keyof T, string> {
  return Object.hasOwn(table, key);
}

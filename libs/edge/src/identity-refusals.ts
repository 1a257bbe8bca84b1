import type { IdentityProblem } from './identifier.js';
import { type Refusal, refusal } from './refusals.js';

/** A code and a sentence. */
export type SaidOfIdentity = readonly [code: string, detail: string];

type Headers = readonly string[];

/** X-Merchant-Id is there, and says nothing. Each is answered with 401. */
export const HEADER_UNAUTHORIZED = {
  untrusted_peer: ['identity.not_trusted', 'The header X-Merchant-Id is not believed from this address.'],
} as const satisfies Record<string, SaidOfIdentity>;

/** The headers that name a merchant and its user say nothing that could be meant. Each is answered with 400. */
export const HEADER_BAD_REQUEST = {
  duplicate_identity: ['identity.repeated', 'There is more than one X-Merchant-Id header.'],
  invalid_identity: ['identity.malformed', 'The header X-Merchant-Id is no merchant id: 1 to 128 characters, no control characters.'],
  duplicate_user: ['identity.user_repeated', 'There is more than one X-User-Id header.'],
  invalid_user: ['identity.user_malformed', 'The header X-User-Id is no user: 1 to 128 characters, no control characters.'],
} as const satisfies Record<string, SaidOfIdentity>;

export const HEADER_CHALLENGE = 'Merchant realm="tollgate"';

/** It is not known whose request it is. */
export function unidentified(status: 400 | 401, [code, detail]: SaidOfIdentity, requestId: string, headers: Headers = []): Refusal {
  const title = status === 400 ? 'Bad Request' : 'Unauthorized';
  return refusal({ status, type: 'unidentified-merchant', code, title, detail, requestId, headers });
}

/**
 * The answer where merchants are known by X-Merchant-Id, or by nothing that comes with a credential.
 *
 * @param missing what to say where no merchant is named
 */
export function identityRefusal(why: IdentityProblem, missing: string, requestId: string): Refusal {
  const challenge = ['WWW-Authenticate', HEADER_CHALLENGE];
  if (why === 'no_identity') return unidentified(401, ['identity.missing', missing], requestId, challenge);
  if (why === 'untrusted_peer') return unidentified(401, HEADER_UNAUTHORIZED[why], requestId, challenge);
  return unidentified(400, HEADER_BAD_REQUEST[why], requestId);
}

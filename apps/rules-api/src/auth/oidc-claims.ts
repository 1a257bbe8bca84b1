import type { JWTPayload } from 'jose';
import { claimOf, isMerchantId, line } from '#limiter';
import type { ProblemError } from '#platform';
import { ROLES } from '#rules-db';
import { forbidden } from './forbidden.js';
import type { Principal } from './principal.js';

/** Stands in front of a subject in the audit, so that no token of ours can be named like one. */
export const SUBJECT_PREFIX = 'oidc:';

/** As long as OpenID Connect allows. */
const SUBJECT = line(255);

/** In the claim of merchants: all of them. */
const ALL = '*';
const MAX_MERCHANTS = 100;

export interface ClaimNames {
  readonly roles: string;
  /** Nothing: no token is limited to merchants. */
  readonly merchants: string | undefined;
}

/** Whom the claims of a valid token mean, or why that may do nothing here. */
export function principalOfClaims(claims: JWTPayload, names: ClaimNames): Principal | ProblemError {
  const sub: unknown = claims.sub;
  if (typeof sub !== 'string' || SUBJECT.fault(sub) !== undefined)
    return forbidden(['token.subject_unusable', `the claim sub of your token ${SUBJECT.expected}`]);
  const given = textsIn(claimOf(claims, names.roles));
  // The highest one that it names: others belong to other applications.
  const role = ROLES.findLast((each) => given?.includes(each));
  if (role === undefined)
    return forbidden(['token.role_unknown', `the claim ${names.roles} of your token names none of the roles ${ROLES.join(', ')}`]);
  const merchants = names.merchants === undefined ? null : merchantsIn(claimOf(claims, names.merchants));
  if (merchants === undefined) {
    const detail = `the claim ${names.merchants} of your token names no merchants: it must be a list of 1 to ${MAX_MERCHANTS} ids, or ${ALL} for all`;
    return forbidden(['token.merchants_unknown', detail]);
  }
  return { name: SUBJECT_PREFIX + sub, role, merchants };
}

function textsIn(claim: unknown): readonly string[] | undefined {
  if (typeof claim === 'string') return [claim];
  return Array.isArray(claim) && claim.every((each) => typeof each === 'string') ? claim : undefined;
}

/** Null: all. Undefined: it makes no sense, and then nobody is let in. */
function merchantsIn(claim: unknown): readonly string[] | null | undefined {
  const ids = textsIn(claim);
  if (ids?.length === 1 && ids[0] === ALL) return null;
  return ids !== undefined && ids.length >= 1 && ids.length <= MAX_MERCHANTS && ids.every(isMerchantId) ? ids : undefined;
}

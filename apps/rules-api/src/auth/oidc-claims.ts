import type { JWTPayload } from 'jose';
import { claimOf, isMerchantId, line } from '#limiter';
import type { ProblemError } from '#platform';
import { ROLES } from '#rules-db';
import { LABEL_FILTER, labelIn } from '../pagination/label-filter.js';
import { forbidden } from './forbidden.js';
import type { Principal } from './principal.js';

/** Stands in front of a subject in the audit, so that no token of ours can be named like one. */
export const SUBJECT_PREFIX = 'oidc:';

/** As long as OpenID Connect allows. */
const SUBJECT = line(255);

/** In a claim that may limit a token: it is good for all merchants. */
const ALL = '*';
const MAX_MERCHANTS = 100;

export interface ClaimNames {
  readonly roles: string;
  /** Lists merchants. Nothing: no token is limited to a list of them. */
  readonly merchants: string | undefined;
  /** Has a label of merchants. Nothing: no token is limited to a label. */
  readonly label: string | undefined;
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
  const limits = limitsOf(claims, names);
  return 'code' in limits ? limits : { name: SUBJECT_PREFIX + sub, role, ...limits };
}

/** To whom it is limited. A token that does not say so where it has to is let in nowhere: an issuer that forgets a claim makes nobody an administrator of all. */
function limitsOf(claims: JWTPayload, names: ClaimNames): Pick<Principal, 'merchants' | 'label'> | ProblemError {
  const byList = names.merchants === undefined ? undefined : (claimOf(claims, names.merchants) ?? undefined);
  const byLabel = names.label === undefined ? undefined : (claimOf(claims, names.label) ?? undefined);
  if (names.merchants === undefined && names.label === undefined) return { merchants: null };
  if (byList !== undefined && byLabel !== undefined) {
    const detail = `your token has both claims ${names.merchants} and ${names.label}: a token is limited by one of them`;
    return forbidden(['token.limits_ambiguous', detail]);
  }
  // Of two claims that may limit a token, one is enough.
  if (names.label !== undefined && (byLabel !== undefined || names.merchants === undefined)) return labelled(byLabel, names.label);
  return listed(byList, names.merchants!);
}

function listed(claim: unknown, name: string): Pick<Principal, 'merchants'> | ProblemError {
  const ids = textsIn(claim);
  if (ids?.length === 1 && ids[0] === ALL) return { merchants: null };
  if (ids !== undefined && ids.length >= 1 && ids.length <= MAX_MERCHANTS && ids.every(isMerchantId)) return { merchants: ids };
  const detail = `the claim ${name} of your token names no merchants: it must be a list of 1 to ${MAX_MERCHANTS} ids, or ${ALL} for all`;
  return forbidden(['token.merchants_unknown', detail]);
}

function labelled(claim: unknown, name: string): Pick<Principal, 'merchants' | 'label'> | ProblemError {
  const [text, ...others] = textsIn(claim) ?? [];
  if (text === ALL && others.length === 0) return { merchants: null };
  if (text !== undefined && others.length === 0 && LABEL_FILTER.format.fault(text) === undefined)
    return { merchants: [], label: labelIn(text) };
  const detail = `the claim ${name} of your token names no label: it must be one as NAME=VALUE like region=eu, or ${ALL} for all merchants`;
  return forbidden(['token.label_unknown', detail]);
}

function textsIn(claim: unknown): readonly string[] | undefined {
  if (typeof claim === 'string') return [claim];
  return Array.isArray(claim) && claim.every((each) => typeof each === 'string') ? claim : undefined;
}

import { claimOf, isMerchantId, line } from '#limiter';
import type { Caller, TokenProblem } from './caller.js';

/** Which claims of a token say who is asking: names, or paths with dots. */
export interface ClaimNames {
  readonly merchant: string;
  /** Empty: tokens name no user. */
  readonly user: string;
}

/** As the Rules API has it for API keys. It becomes a header. */
const USER = line(128);

/** Whom the claims of a valid token mean. Without the claim of the user it is no user in particular. */
export function callerOfClaims(claims: Readonly<Record<string, unknown>>, names: ClaimNames): Caller | TokenProblem {
  const merchantId = idIn(claimOf(claims, names.merchant));
  if (merchantId === undefined || !isMerchantId(merchantId)) return 'token_without_merchant';
  const claim = names.user === '' ? undefined : claimOf(claims, names.user);
  const user = claim === undefined || claim === null ? null : idIn(claim);
  if (user === undefined || (user !== null && USER.fault(user) !== undefined)) return 'token_user_unusable';
  // What was checked, and not the text of the token: two parsers could read that differently.
  return { merchantId, user, claims: JSON.stringify(claims) };
}

/** Some issuers count, and do not name. */
function idIn(claim: unknown): string | undefined {
  if (typeof claim === 'string') return claim;
  return Number.isSafeInteger(claim) ? String(claim) : undefined;
}

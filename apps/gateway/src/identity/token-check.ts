import { errors, type JWTVerifyGetKey } from 'jose';
import { isFaultOfToken, type TokenExpectations, verifiedClaims } from '#jwt';
import type { Caller, TokenProblem } from './caller.js';
import { callerOfClaims, type ClaimNames } from './token-claims.js';

/** What a token says, and until when, in milliseconds since 1970. */
export interface CheckedToken {
  readonly named: Caller | TokenProblem;
  readonly untilMs: number;
}

/** Never rejects. */
export type CheckToken = (token: string) => Promise<CheckedToken>;

export interface TokenCheckOptions extends TokenExpectations {
  readonly keyFor: JWTVerifyGetKey;
  readonly claims: ClaimNames;
  readonly nowMs?: () => number;
}

/** Checks tokens of one issuer: signature, issuer, audience, times, and whom it names. */
export function createTokenCheck({ keyFor, claims: names, nowMs = Date.now, ...expected }: TokenCheckOptions): CheckToken {
  return async (token) => {
    try {
      const { claims, untilMs } = await verifiedClaims(token, keyFor, expected, nowMs());
      return { named: callerOfClaims(claims, names), untilMs };
    } catch (error) {
      return { named: isFaultOfToken(error) ? problemOf(error) : 'token_keys_unavailable', untilMs: Infinity };
    }
  };
}

const PROBLEM_OF_CLAIM: Readonly<Record<string, TokenProblem>> = {
  // There, and in the past, it is JWTExpired.
  exp: 'token_without_expiry',
  nbf: 'token_not_yet_valid',
  iss: 'token_of_another_issuer',
  aud: 'token_for_another_audience',
};

function problemOf(error: errors.JOSEError): TokenProblem {
  if (error instanceof errors.JWTExpired) return 'expired_token';
  if (!(error instanceof errors.JWTClaimValidationFailed)) return 'invalid_token';
  return (Object.hasOwn(PROBLEM_OF_CLAIM, error.claim) && PROBLEM_OF_CLAIM[error.claim]) || 'invalid_token';
}

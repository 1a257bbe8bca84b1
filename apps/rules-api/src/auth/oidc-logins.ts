import { errors } from 'jose';
import { IssuerFetch, isFaultOfToken, type SignedToken, verifiedClaims } from '#jwt';
import { type Logger, ProblemError } from '#platform';
import { IssuerKeys } from './issuer-keys.js';
import type { Login } from './logins.js';
import { type ClaimNames, principalOfClaims } from './oidc-claims.js';
import type { Principal } from './principal.js';
import { invalidToken } from './stored-logins.js';

/** By so much the clocks of the issuer and of this machine may differ. Seconds. */
const CLOCK_SKEW_SECONDS = 30;

/** No administrator waits longer for an issuer that does not answer: one wait for its document, one for its keys. Milliseconds. */
const TIMEOUT_MS = 1_500;
const RETRY_AFTER_MS = 2_000;
const COOLDOWN_MS = 30_000;

export interface OidcOptions {
  readonly issuer: string;
  readonly audience: string;
  readonly claims: ClaimNames;
  readonly logger: Logger;
  readonly nowMs?: () => number;
  /** Milliseconds that never step back. */
  readonly running?: () => number;
  readonly timeoutMs?: number;
  readonly cooldownMs?: number;
}

/** Recognises the tokens of an OIDC issuer by the keys that it publishes. */
export function oidcLogins({
  issuer,
  audience,
  claims,
  logger,
  nowMs = Date.now,
  running = () => performance.now(),
  timeoutMs = TIMEOUT_MS,
  cooldownMs = COOLDOWN_MS,
}: OidcOptions): (token: string) => Promise<Login<Principal> | ProblemError> {
  const onFailure = (err: Error) => logger.warn({ err, issuer }, 'the OIDC issuer cannot be asked');
  const http = new IssuerFetch({ timeoutMs, retryAfterMs: RETRY_AFTER_MS, now: running, onFailure });
  const keys = new IssuerKeys({ issuer, http, now: running, cooldownMs });

  const expectations = { issuer, audience, clockSkewSeconds: CLOCK_SKEW_SECONDS, requiredClaims: ['sub'] };
  const verified = async (token: string): Promise<SignedToken> => verifiedClaims(token, await keys.get(), expectations, nowMs());

  return async (token) => {
    try {
      const { claims: found, untilMs } = await verified(token);
      const principal = principalOfClaims(found, claims);
      return principal instanceof ProblemError ? principal : { principal, untilMs };
    } catch (error) {
      return isFaultOfToken(error) ? invalidToken(whyRefused(error)) : issuerUnavailable(error);
    }
  };
}

/** Only what its bearer can read in the token as well. */
function whyRefused(error: errors.JOSEError): string {
  if (error instanceof errors.JWTExpired) return 'this token has expired';
  if (error instanceof errors.JWTClaimValidationFailed)
    return `the claim ${error.claim} of this token is missing, or is not the expected one`;
  return 'this is not a valid token';
}

function issuerUnavailable(cause: unknown): ProblemError {
  return new ProblemError(
    {
      status: 503,
      code: 'oidc.unavailable',
      detail: 'the issuer of this token cannot be asked for its keys; nothing is known of the token, send it again later',
      headers: { 'retry-after': String(Math.ceil(RETRY_AFTER_MS / 1000)) },
    },
    { cause },
  );
}

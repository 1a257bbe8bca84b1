import { errors, type JWTPayload, jwtVerify } from 'jose';
import { type Logger, ProblemError } from '#platform';
import { IssuerFetch } from './issuer-fetch.js';
import { IssuerKeys } from './issuer-keys.js';
import type { Login } from './logins.js';
import { type ClaimNames, principalOfClaims } from './oidc-claims.js';
import type { Principal } from './principal.js';
import { invalidToken } from './stored-logins.js';

/** Signatures by a key pair only: with a shared secret, or none, a token could be made by whoever knows the public key. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'];

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

/** Whether a token may be one of an OIDC issuer: three parts, the first of which is a JSON object. */
export function isJwt(token: string): boolean {
  return /^eyJ[\w-]*\.[\w-]+\.[\w-]+$/.test(token);
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

  async function claimsOf(token: string): Promise<JWTPayload> {
    const { payload } = await jwtVerify(token, await keys.get(), {
      issuer,
      audience,
      algorithms: ALGORITHMS,
      requiredClaims: ['exp', 'sub'],
      clockTolerance: CLOCK_SKEW_SECONDS,
      currentDate: new Date(nowMs()),
    });
    return payload;
  }

  return async (token) => {
    try {
      const payload = await claimsOf(token);
      const principal = principalOfClaims(payload, claims);
      if (principal instanceof ProblemError) return principal;
      return { principal, untilMs: (payload.exp! + CLOCK_SKEW_SECONDS) * 1000 };
    } catch (error) {
      return isFaultOfToken(error) ? invalidToken(whyRefused(error)) : issuerUnavailable(error);
    }
  };
}

/** What jose says of a token. Everything else, a time-out of its own included, says something of the issuer. */
function isFaultOfToken(error: unknown): error is errors.JOSEError {
  return (
    error instanceof errors.JOSEError &&
    (/^ERR_(JWT|JWS|JWE)_/.test(error.code) ||
      ['ERR_JOSE_ALG_NOT_ALLOWED', 'ERR_JOSE_NOT_SUPPORTED', 'ERR_JWKS_NO_MATCHING_KEY', 'ERR_JWKS_MULTIPLE_MATCHING_KEYS'].includes(
        error.code,
      ))
  );
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

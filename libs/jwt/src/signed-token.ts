import { errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';

/** Signatures by a key pair only: with a shared secret, or none, a token could be made by whoever knows the public key. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'];

export interface TokenExpectations {
  readonly issuer: string;
  readonly audience: string;
  /** By so much the clocks of the issuer and of this machine may differ. */
  readonly clockSkewSeconds: number;
  /** Claims that must be there, beside `exp`. */
  readonly requiredClaims?: readonly string[];
}

/** The claims of a token that is good. */
export interface SignedToken {
  readonly claims: JWTPayload;
  /** Milliseconds since 1970 from which on it is not good any more. */
  readonly untilMs: number;
}

/** Whether a token may be a JWT: three parts, the first of which is a JSON object. */
export function isJwt(token: string): boolean {
  return /^eyJ[\w-]*\.[\w-]+\.[\w-]+$/.test(token);
}

/** @throws what `keyFor` throws, and errors of jose: see `isFaultOfToken` */
export async function verifiedClaims(
  token: string,
  keyFor: JWTVerifyGetKey,
  { issuer, audience, clockSkewSeconds, requiredClaims = [] }: TokenExpectations,
  nowMs: number,
): Promise<SignedToken> {
  const { payload } = await jwtVerify(token, keyFor, {
    issuer,
    audience,
    algorithms: ALGORITHMS,
    requiredClaims: ['exp', ...requiredClaims],
    clockTolerance: clockSkewSeconds,
    currentDate: new Date(nowMs),
  });
  return { claims: payload, untilMs: (payload.exp! + clockSkewSeconds) * 1000 };
}

/** What jose says of a token. Everything else, a time-out of its own included, says something of the issuer. */
export function isFaultOfToken(error: unknown): error is errors.JOSEError {
  return (
    error instanceof errors.JOSEError &&
    (/^ERR_(JWT|JWS|JWE)_/.test(error.code) ||
      ['ERR_JOSE_ALG_NOT_ALLOWED', 'ERR_JOSE_NOT_SUPPORTED', 'ERR_JWKS_NO_MATCHING_KEY', 'ERR_JWKS_MULTIPLE_MATCHING_KEYS'].includes(
        error.code,
      ))
  );
}

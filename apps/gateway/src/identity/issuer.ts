import { IssuerFetch, KeySet } from '#jwt';
import type { Config, Logger } from '#platform';
import { KnownTokens } from './known-tokens.js';
import { createTokenCheck } from './token-check.js';

/** So long a gateway waits for the keys of an issuer when it starts, and a request with a key that is not known. Milliseconds. */
const TIMEOUT_MS = 1_500;
const RETRY_AFTER_MS = 2_000;

/** The issuer of the tokens by which merchants are known. */
export interface Issuer {
  readonly keys: KeySet;
  readonly tokens: KnownTokens;
}

/** Nothing if merchants are not known by tokens. */
export function createIssuer(config: Config<'gateway'>, logger: Logger): Issuer | undefined {
  const { jwtJwksUrl: url, jwtIssuer: issuer, jwtAudience: audience } = config;
  if (!config.identity.includes('jwt') || url === undefined || issuer === undefined || audience === undefined) return undefined;
  const onFailure = (err: Error) => logger.warn({ err, issuer }, 'the issuer of tokens cannot be asked for its keys');
  const http = new IssuerFetch({ timeoutMs: TIMEOUT_MS, retryAfterMs: RETRY_AFTER_MS, now: () => performance.now(), onFailure });
  const keys = new KeySet({ url, http });
  const claims = { merchant: config.jwtMerchantClaim, user: config.jwtUserClaim };
  const check = createTokenCheck({ issuer, audience, claims, clockSkewSeconds: config.jwtClockSkewSeconds, keyFor: keys.keyFor });
  return { keys, tokens: new KnownTokens({ check }) };
}

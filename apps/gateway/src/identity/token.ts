import { isJwt } from '#jwt';
import { bearerTokenIn } from '#platform';
import type { KeyHeaders } from './api-key.js';
import { hasApiKey, isBearer, tokenIn } from './authorization.js';
import type { CredentialReader } from './caller.js';
import { idOf, type KnownTokens } from './known-tokens.js';

/**
 * Finds out who sends `Authorization: Bearer` with a JWT. Every bearer token but an API key of ours is taken for one: a text that is none is wrong, and not
 * somebody else's. Another scheme is the upstream's.
 */
export function createTokenReader<R extends { readonly head: KeyHeaders }>(
  tokens: Pick<KnownTokens, 'get' | 'check'>,
): CredentialReader<R> {
  return ({ head: { authorizations, authorization } }, done) => {
    if (authorizations === 0) return done(null);
    // Of two of them, two servers could read different ones.
    if (authorizations > 1) return done('duplicate_authorization');
    if (!isBearer(authorization) || hasApiKey(authorization)) return done(null);
    const token = tokenIn(authorization);
    const id = idOf(token);
    const known = tokens.get(id);
    if (known !== undefined) return done(known);
    // Only what was one is known.
    if (bearerTokenIn(authorization) === undefined || !isJwt(token)) return done('invalid_token');
    void tokens.check(id, token).then(done);
  };
}

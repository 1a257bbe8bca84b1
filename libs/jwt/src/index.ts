export { IssuerFetch, IssuerUnavailableError } from './issuer-fetch.js';
export { KeySet, type KeySetOptions } from './key-set.js';
export { isFaultOfToken, isJwt, type SignedToken, type TokenExpectations, verifiedClaims } from './signed-token.js';

import { bearerTokenIn } from '#platform';

/** Whether an Authorization header has a bearer token, whatever stands there as one. */
export function isBearer(authorization: string): boolean {
  return /^bearer(?:[ \t]|$)/i.test(authorization);
}

/** Whether an Authorization header has an API key of ours, or what claims to be one. */
export function hasApiKey(authorization: string): boolean {
  return authorization.startsWith(USUAL) || /^bearer[ \t]+tgk_/i.test(authorization);
}

/** What stands in a header with a bearer token as that token; empty if it can be none. Whether it is one is for those to say who read it. */
export function tokenIn(authorization: string): string {
  // As nearly all clients write it: an expression over a long token takes longer than everything else that a known one costs.
  if (authorization.startsWith(SCHEME) && authorization[SCHEME.length] !== ' ' && !authorization.endsWith(' '))
    return authorization.slice(SCHEME.length);
  return bearerTokenIn(authorization) ?? '';
}

const SCHEME = 'Bearer ';
const USUAL = `${SCHEME}tgk_`;

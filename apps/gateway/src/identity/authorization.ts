import { bearerTokenIn } from '#platform';

/** Whether an Authorization header has a bearer token, whatever stands there as one. */
export function isBearer(authorization: string): boolean {
  return /^bearer(?:[ \t]|$)/i.test(authorization);
}

/** Whether an Authorization header has an API key of ours, or what claims to be one. */
export function hasApiKey(authorization: string): boolean {
  return authorization.startsWith(USUAL) || /^bearer[ \t]+tgk_/i.test(authorization);
}

/** What claims to be an API key in such a header; empty if it is none. */
export function apiKeyIn(authorization: string): string {
  // As nearly all clients write it; what is behind it is looked at by those who read a key.
  if (authorization.startsWith(USUAL) && !authorization.endsWith(' ')) return authorization.slice(SCHEME_LENGTH);
  return bearerTokenIn(authorization) ?? '';
}

const USUAL = 'Bearer tgk_';
const SCHEME_LENGTH = 'Bearer '.length;

/** Whether an Authorization header has a bearer token, whatever stands there as one. */
export function isBearer(authorization: string): boolean {
  return /^bearer(?:[ \t]|$)/i.test(authorization);
}

/** Whether an Authorization header has an API key of ours, or what claims to be one. */
export function hasApiKey(authorization: string): boolean {
  return /^bearer[ \t]+tgk_/i.test(authorization);
}

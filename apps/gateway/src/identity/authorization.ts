/** Whether an Authorization header has an API key of ours, or what claims to be one. */
export function hasApiKey(authorization: string): boolean {
  return /^bearer[ \t]+tgk_/i.test(authorization);
}

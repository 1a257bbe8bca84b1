/** The claims of a token: an object of JSON. */
export type Claims = Readonly<Record<string, unknown>>;

/** A claim by its name, or by a path with dots like realm_access.roles. */
export function claimOf(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let found: unknown = claims;
  for (const part of name.split('.')) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, part)) return undefined;
    found = (found as Claims)[part];
  }
  return found;
}

/** The claims in a JSON text; none if it is no object. */
export function parsedClaims(text: string): Claims {
  try {
    const claims: unknown = JSON.parse(text);
    return typeof claims === 'object' && claims !== null ? (claims as Claims) : {};
  } catch {
    return {};
  }
}

/** The texts that a claim has: numbers and truth values as JSON writes them. An object has none; of a list, what is no object. */
export function claimTexts(claim: unknown): readonly string[] {
  return (Array.isArray(claim) ? claim : [claim]).flatMap((each) =>
    typeof each === 'string' ? [each] : typeof each === 'number' || typeof each === 'boolean' ? [String(each)] : [],
  );
}

/** Whether a field of a request is a claim. */
export function isClaimField(name: string): boolean {
  return name.startsWith('jwt.');
}

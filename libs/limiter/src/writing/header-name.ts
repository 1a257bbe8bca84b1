/** A token of RFC 9110, as names of header fields are. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const MAX_LENGTH = 128;

/** Names of requests in HTTP/2, which begin with a colon and are no headers, and what somebody may mean by them. */
const PSEUDO_HEADERS: Readonly<Record<string, string>> = { ':path': 'path', ':method': 'method', ':authority': 'host' };

/** Why no header of a request can have this name; nothing if one can. */
export function headerNameFault(name: string): string | undefined {
  const field = Object.hasOwn(PSEUDO_HEADERS, name) ? PSEUDO_HEADERS[name] : undefined;
  if (field !== undefined) return `must be the name of a header, and ${name} is none; the field is "${field}"`;
  if (name.length >= 1 && name.length <= MAX_LENGTH && TOKEN.test(name)) return undefined;
  return `must be the name of a header: 1 to ${MAX_LENGTH} letters, digits and signs such as '-' and '_', without spaces and colons`;
}

import { expected } from './variable.js';

/** The kinds of paths that PATH_POLICY refuses or rewrites and PATH_POLICY_EXCEPTIONS can allow. No other kind can be allowed. */
export const PATH_EXCEPTION_KINDS = ['encoded-slashes', 'parameters', 'encoded-delimiters', 'double-escapes'] as const;
export type PathExceptionKind = (typeof PATH_EXCEPTION_KINDS)[number];

/** Allows these kinds on paths that match the pattern exactly as they are sent. */
export interface PathException {
  readonly kinds: readonly PathExceptionKind[];
  readonly pattern: string;
}

const MAX_EXCEPTIONS = 32;
const MAX_PATTERN_LENGTH = 256;
const EXPECTED = 'entries like encoded-slashes:/objects/** or encoded-slashes+parameters:/objects/**, separated by spaces, or none';

/**
 * The first segment has no wildcard: otherwise an exception would allow `/transactions%2f1`, which is one segment for the rules and
 * two for some upstreams. Escapes are not allowed, because a pattern is compared with decoded segments.
 */
const PATTERN = /^\/[\w.~!$&'(),=:@-]+(?:\/(?:\*\*|[\w.~!$&'(),=:@-]*\*?[\w.~!$&'(),=:@-]*))*$/;

/**
 * Parses PATH_POLICY_EXCEPTIONS.
 *
 * @throws ExpectationError
 */
export function parsePathExceptions(text: string): readonly PathException[] {
  const entries = text.trim().split(/\s+/);
  if (entries.length === 1 && entries[0] === 'none') return Object.freeze([]);
  if (entries.length > MAX_EXCEPTIONS) return expected(`at most ${MAX_EXCEPTIONS} entries`);
  return Object.freeze(entries.map(parseEntry));
}

function parseEntry(entry: string): PathException {
  const colon = entry.indexOf(':');
  if (colon === -1) return expected(EXPECTED);
  const kinds: PathExceptionKind[] = [];
  for (const name of entry.slice(0, colon).split('+')) {
    const kind = PATH_EXCEPTION_KINDS.find((each) => each === name);
    if (kind === undefined) return expected(`${EXPECTED}; the kinds are ${PATH_EXCEPTION_KINDS.join(', ')}`);
    kinds.push(kind);
  }
  const pattern = entry.slice(colon + 1);
  return isExceptable(pattern)
    ? { kinds, pattern }
    : expected(`${EXPECTED}; a pattern starts with a segment without wildcard, and has no escapes`);
}

/** Whether there may be an exception for the paths of a pattern. */
export function isExceptable(pattern: string): boolean {
  const segments = pattern.split('/').slice(1);
  return (
    pattern.length <= MAX_PATTERN_LENGTH &&
    PATTERN.test(pattern) &&
    segments.filter((segment) => segment === '**').length <= 1 &&
    !segments.some((segment) => segment === '.' || segment === '..') &&
    !segments.slice(0, -1).includes('')
  );
}

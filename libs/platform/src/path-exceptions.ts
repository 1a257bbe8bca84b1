import { expected } from './variable.js';

/** What PATH_POLICY refuses or rewrites and PATH_POLICY_EXCEPTIONS can let through; everything else it never lets through. */
export const PATH_EXCEPTION_KINDS = ['encoded-slashes', 'parameters', 'encoded-delimiters', 'double-escapes'] as const;
export type PathExceptionKind = (typeof PATH_EXCEPTION_KINDS)[number];

/** On paths that match the pattern, exactly as they are sent, these kinds are let through. */
export interface PathException {
  readonly kinds: readonly PathExceptionKind[];
  readonly pattern: string;
}

const MAX_EXCEPTIONS = 32;
const MAX_PATTERN_LENGTH = 256;
const EXPECTED = 'entries like encoded-slashes:/objects/** or encoded-slashes+parameters:/objects/**, separated by spaces, or none';

/**
 * The first segment stands there literally: an exception that began with a wildcard would let `/transactions%2f1` through,
 * which the rules see as one segment and some upstreams as two. No escapes: an exception says what it means.
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
  const segments = pattern.split('/').slice(1);
  const fits =
    pattern.length <= MAX_PATTERN_LENGTH &&
    PATTERN.test(pattern) &&
    segments.filter((segment) => segment === '**').length <= 1 &&
    !segments.some((segment) => segment === '.' || segment === '..') &&
    !segments.slice(0, -1).includes('');
  return fits ? { kinds, pattern } : expected(`${EXPECTED}; a pattern starts with a segment without wildcard, and has no escapes`);
}

import { pathMatcher, pathSegments, type PathMatcher } from '#limiter';
import type { PathException, PathExceptionKind, PathPolicy } from '#platform';
import { PATH_FAULTS, pathFaults, withoutParameters, type PathFault } from './path-faults.js';
import { pathProblem, TARGET_CHARACTERS } from './path-problems.js';
import type { Problem } from './problem-answer.js';

/**
 * Turns a request target into the one that the rules are matched with and that is forwarded, or says why there is none.
 * It is given targets that start with a slash.
 */
export type PathReader = (target: string) => string | Problem;

export interface PathPolicyOptions {
  policy: PathPolicy;
  exceptions: readonly PathException[];
}

interface ReadyException {
  readonly kinds: ReadonlySet<PathFault>;
  readonly matches: PathMatcher;
}

const NOTHING: ReadonlySet<PathFault> = new Set();

const PATH_PROBLEMS = Object.fromEntries(Object.entries(PATH_FAULTS).map(([fault, what]) => [fault, pathProblem(fault, what)])) as Record<
  PathFault,
  Problem
>;

/**
 * One path for the rules and for the upstream: what servers read differently is refused (`strict`), or resolved before
 * rules or upstream see it (`normalize`). What an exception lets through is matched as it is sent. The query is never touched.
 */
export function createPathReader({ policy, exceptions }: PathPolicyOptions): PathReader {
  const ready = exceptions.map(({ kinds, pattern }) => ({ kinds: new Set<PathExceptionKind>(kinds), matches: pathMatcher(pattern) }));
  const unambiguous = policy === 'strict' ? strictly : normalized;
  return (target) => {
    const look = lookAt(target);
    if (look === ORDINARY) return target;
    if (look === UNSAFE) return TARGET_CHARACTERS;
    const query = target.indexOf('?');
    const path = query === -1 ? target : target.slice(0, query);
    const outcome = unambiguous(path, ready);
    if (typeof outcome !== 'string' || outcome === path) return typeof outcome === 'string' ? target : outcome;
    return query === -1 ? outcome : outcome + target.slice(query);
  };
}

/** The path as it is, if all that is ambiguous in it is excepted where it leads. */
function strictly(path: string, exceptions: readonly ReadyException[]): string | Problem {
  const faults = pathFaults(path);
  if (faults.size === 0) return path;
  for (const { kinds, matches } of exceptions) {
    if (isWithin(faults, kinds) && matches(pathSegments(path))) return path;
  }
  return problemOf(faults);
}

/** The path rewritten. An exception counts where the rewritten path leads, not where the client said. */
function normalized(path: string, exceptions: readonly ReadyException[]): string | Problem {
  for (const { kinds, matches } of exceptions) {
    const rewritten = rewrite(path, kinds);
    if (isWithin(pathFaults(rewritten), kinds) && matches(pathSegments(rewritten))) return rewritten;
  }
  const rewritten = rewrite(path, NOTHING);
  const faults = pathFaults(rewritten);
  return faults.size === 0 ? rewritten : problemOf(faults);
}

function isWithin(faults: ReadonlySet<PathFault>, kinds: ReadonlySet<PathFault>): boolean {
  for (const fault of faults) if (!kinds.has(fault)) return false;
  return true;
}

function problemOf(faults: ReadonlySet<PathFault>): Problem {
  for (const fault of Object.keys(PATH_FAULTS) as PathFault[]) if (faults.has(fault)) return PATH_PROBLEMS[fault];
  throw new Error('a path without faults has no problem');
}

/**
 * RFC 3986, 6.2.2, and beyond it: all slashes are slashes, none follows another, and parameters are gone. What cannot be
 * resolved stays, and is found by the look at the outcome; so is what only came about by rewriting, like the %2e of %25%32e.
 *
 * @param kept stays as it is but for the case of its hexadecimal digits
 */
function rewrite(path: string, kept: ReadonlySet<PathFault>): string {
  const segments: string[] = [];
  let endsOpen = false;
  for (const part of path.slice(1).split(/[/\\]/)) {
    const named = kept.has('parameters') ? part : withoutParameters(part);
    const resolved = named.replace(/%[0-9a-f]{2}/gi, (escape) => rewrittenEscape(escape, kept));
    for (const segment of resolved.split('/')) {
      endsOpen = segment === '' || segment === '.' || segment === '..';
      if (!endsOpen) segments.push(segment);
      else if (segment === '..') segments.pop();
    }
  }
  return `/${segments.join('/')}${endsOpen && segments.length > 0 ? '/' : ''}`;
}

function rewrittenEscape(escape: string, kept: ReadonlySet<PathFault>): string {
  const byte = Number.parseInt(escape.slice(1), 16);
  if (byte === 0x5c || (byte === 0x2f && !kept.has('encoded-slashes'))) return '/';
  return byte < 0x80 && MEANS_ITSELF[byte] === 1 ? String.fromCharCode(byte) : escape.toUpperCase();
}

const [ORDINARY, SUSPICIOUS, UNSAFE] = [0, 1, 2];

/** The kinds of characters in a target. */
const [PLAIN, SLASH, PERCENT, QUESTION_MARK, DEEPER_LOOK, NOT_ALLOWED] = [0, 1, 2, 3, 4, 5];

const KINDS = table((character, byte) => {
  if (byte <= 0x20 || byte >= 0x7f || character === '#') return NOT_ALLOWED;
  return (
    ({ '/': SLASH, '%': PERCENT, '?': QUESTION_MARK, '\\': DEEPER_LOOK, ';': DEEPER_LOOK } as Record<string, number>)[character] ?? PLAIN
  );
});

/** 1 for letters, digits, - . _ ~: an escape of one means the same, says RFC 3986, but not every server knows. */
const MEANS_ITSELF = table((character) => (/[\w.~-]/.test(character) ? 1 : 0));

/** 1 for ASCII whose escape all servers read in the same way. Bytes of UTF-8 take a deeper look. */
const HARMLESS_ENCODED = table((character, byte) => (byte < 0x20 || byte >= 0x7f || /[\w.~\-/\\;?#%]/.test(character) ? 0 : 1));

const NO_DIGIT = 255;
const HEX_VALUES = table((character) => (/[0-9a-f]/i.test(character) ? Number.parseInt(character, 16) : NO_DIGIT));

function table(valueOf: (character: string, byte: number) => number): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) => valueOf(String.fromCharCode(byte), byte));
}

/** One look at each character, for every request: most paths are ordinary, and stay as they are. */
function lookAt(target: string): number {
  let suspicious = false;
  let inQuery = false;
  for (let i = 0; i < target.length; i++) {
    const kind = KINDS[target.charCodeAt(i)] ?? NOT_ALLOWED;
    if (kind === PLAIN) continue;
    if (kind === NOT_ALLOWED) return UNSAFE;
    if (inQuery) continue;
    if (kind === QUESTION_MARK) inQuery = true;
    else if (kind === SLASH) suspicious ||= beginsOddly(target, i + 1);
    else suspicious ||= kind !== PERCENT || !isHarmless(target, i + 1);
  }
  return suspicious ? SUSPICIOUS : ORDINARY;
}

/** An empty segment, or one of dots. `/.well-known` is neither. */
function beginsOddly(target: string, start: number): boolean {
  const first = target.charCodeAt(start);
  if (first === 0x2f) return true;
  if (first !== 0x2e) return false;
  const end = target.charCodeAt(start + 1) === 0x2e ? start + 2 : start + 1;
  const next = target.charCodeAt(end);
  return end === target.length || next === 0x2f || next === 0x3f;
}

function isHarmless(target: string, start: number): boolean {
  const high = HEX_VALUES[target.charCodeAt(start)] ?? NO_DIGIT;
  const low = HEX_VALUES[target.charCodeAt(start + 1)] ?? NO_DIGIT;
  return high !== NO_DIGIT && low !== NO_DIGIT && HARMLESS_ENCODED[high * 16 + low] === 1;
}

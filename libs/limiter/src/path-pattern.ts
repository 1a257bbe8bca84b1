/**
 * Path patterns of rules: `/transactions/*` is one segment below, `/transactions/**` any number of them, none included.
 * A single `*` may also stand for a part of a segment (`/v1/pay-*`). Matching is by segment and linear in the path, so
 * that no pattern can be slow. Without regard to case, the segments have to come in lower case.
 */
export type PathMatcher = (segments: readonly string[], ignoreCase?: boolean) => boolean;

export const MAX_PATTERN_LENGTH = 256;

/** The reason why this is not a path pattern, or undefined if it is one. */
export function pathPatternFault(pattern: string): string | undefined {
  if (!pattern.startsWith('/')) return "must start with '/'";
  if (pattern.length > MAX_PATTERN_LENGTH) return `must be at most ${MAX_PATTERN_LENGTH} characters`;
  if (/[?#\s\p{Cc}]/u.test(pattern)) return 'must be a path without query, fragment or spaces';
  const segments = pattern.slice(1).split('/');
  if (segments.filter((segment) => segment === '**').length > 1) return "may contain '**' only once";
  if (segments.some((segment) => segment !== '**' && segment.split('*').length > 2)) return "may contain '*' only once in a segment";
  if (segments.some((segment) => segment === '.' || segment === '..'))
    return "must not contain '.' or '..' segments: no path that is forwarded has any";
  if (segments.slice(0, -1).includes('')) return "must not contain '//': no path that is forwarded does";
  return undefined;
}

/** Throws if the pattern is not one. */
export function pathMatcher(pattern: string): PathMatcher {
  const fault = pathPatternFault(pattern);
  if (fault) throw new Error(`path pattern ${JSON.stringify(pattern)} ${fault}`);
  const matches = segmentsMatcher(pathSegments(pattern));
  // Made when it is first needed: most installations never compare without case.
  let matchesAnyCase: PathMatcher | undefined;
  return (path, ignoreCase = false) => {
    if (!ignoreCase) return matches(path);
    matchesAnyCase ??= segmentsMatcher(pathSegments(pattern, true));
    return matchesAnyCase(path);
  };
}

function segmentsMatcher(segments: readonly string[]): PathMatcher {
  const wild = segments.indexOf('**');
  const head = (wild === -1 ? segments : segments.slice(0, wild)).map(asPart);
  const tail = (wild === -1 ? [] : segments.slice(wild + 1)).map(asPart);
  return (path) => {
    if (wild === -1 ? path.length !== head.length : path.length < head.length + tail.length) return false;
    return allFit(head, path, 0) && allFit(tail, path, path.length - tail.length);
  };
}

/** A segment that has to be this text, or to begin and end so. */
type Part = string | { readonly prefix: string; readonly suffix: string; readonly least: number };

function asPart(pattern: string): Part {
  const star = pattern.indexOf('*');
  if (star === -1) return pattern;
  const [prefix, suffix] = [pattern.slice(0, star), pattern.slice(star + 1)];
  return { prefix, suffix, least: Math.max(1, prefix.length + suffix.length) };
}

/** Without a closure for each segment: thousands of rules would be visited in as many places of the memory. */
function allFit(parts: readonly Part[], path: readonly string[], from: number): boolean {
  for (let i = 0; i < parts.length; i++) if (!fits(parts[i]!, path[from + i]!)) return false;
  return true;
}

function fits(part: Part, segment: string): boolean {
  if (typeof part === 'string') return segment === part;
  return segment.length >= part.least && segment.startsWith(part.prefix) && segment.endsWith(part.suffix);
}

/**
 * The segments of a request target as rules see it: the path that is forwarded, without the query, split at its slashes,
 * each segment then percent-decoded, and no empty segment. Whoever forwards has made sure that no server splits it
 * elsewhere: an encoded slash stays inside its segment, and dots, backslashes and parameters mean nothing here.
 * An escape that is not valid UTF-8 stays as it stands.
 *
 * @param lowerCase for matching without regard to case
 */
export function pathSegments(target: string, lowerCase = false): string[] {
  const query = target.indexOf('?');
  const path = query === -1 ? target : target.slice(0, query);
  const encoded = path.includes('%');
  const segments: string[] = [];
  for (const segment of path.split('/')) {
    if (segment === '') continue;
    const text = encoded ? decoded(segment) : segment;
    segments.push(lowerCase ? text.toLowerCase() : text);
  }
  return segments;
}

function decoded(segment: string): string {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment.replace(/%[0-7][0-9a-f]/gi, (escape) => String.fromCharCode(Number.parseInt(escape.slice(1), 16)));
  }
}

/**
 * Path patterns of rules: `/transactions/*` is one segment below, `/transactions/**` any number of them, none included.
 * A single `*` may also stand for a part of a segment (`/v1/pay-*`). Matching is by segment and linear in the path, so
 * that no pattern can be slow.
 */
export type PathMatcher = (segments: readonly string[]) => boolean;

const MAX_PATTERN_LENGTH = 256;

/** The reason why this is not a path pattern, or undefined if it is one. */
export function pathPatternFault(pattern: string): string | undefined {
  if (!pattern.startsWith('/')) return "must start with '/'";
  if (pattern.length > MAX_PATTERN_LENGTH) return `must be at most ${MAX_PATTERN_LENGTH} characters`;
  if (/[?#\s\p{Cc}]/u.test(pattern)) return "must be a path without query, fragment or spaces";
  const segments = pattern.slice(1).split('/');
  if (segments.filter((segment) => segment === '**').length > 1) return "may contain '**' only once";
  if (segments.some((segment) => segment !== '**' && segment.split('*').length > 2)) return "may contain '*' only once in a segment";
  if (segments.some((segment) => segment === '.' || segment === '..')) return "must not contain '.' or '..' segments: they are resolved before matching";
  if (segments.slice(0, -1).includes('')) return "must not contain '//': repeated slashes are joined before matching";
  return undefined;
}

/** Throws if the pattern is not one. */
export function pathMatcher(pattern: string): PathMatcher {
  const fault = pathPatternFault(pattern);
  if (fault) throw new Error(`path pattern ${JSON.stringify(pattern)} ${fault}`);
  const segments = pathSegments(pattern);
  const wild = segments.indexOf('**');
  const head = (wild === -1 ? segments : segments.slice(0, wild)).map(segmentMatcher);
  const tail = (wild === -1 ? [] : segments.slice(wild + 1)).map(segmentMatcher);
  return (path) => {
    if (wild === -1 ? path.length !== head.length : path.length < head.length + tail.length) return false;
    const tailStart = path.length - tail.length;
    return head.every((matches, i) => matches(path[i]!)) && tail.every((matches, i) => matches(path[tailStart + i]!));
  };
}

function segmentMatcher(pattern: string): (segment: string) => boolean {
  const star = pattern.indexOf('*');
  if (star === -1) return (segment) => segment === pattern;
  const prefix = pattern.slice(0, star);
  const suffix = pattern.slice(star + 1);
  const least = prefix.length + suffix.length;
  return (segment) => segment.length >= Math.max(1, least) && segment.startsWith(prefix) && segment.endsWith(suffix);
}

const [QUESTION_MARK, HASH, PERCENT, BACKSLASH] = [0x3f, 0x23, 0x25, 0x5c];

/**
 * The segments of a request target as rules see it: without query, percent-decoded, slashes joined, dot segments
 * resolved, no empty segment at the end. The many spellings of one path therefore meet the same rule; what is
 * forwarded stays as it came. An escape that is not valid UTF-8 stays as it stands.
 */
export function pathSegments(target: string): string[] {
  let end = 0;
  let isPlain = true;
  // One look at each character: this is done for every request.
  for (; end < target.length; end++) {
    const code = target.charCodeAt(end);
    if (code === QUESTION_MARK || code === HASH) break;
    if (code === PERCENT || code === BACKSLASH) isPlain = false;
  }
  const path = target.slice(0, end);
  const segments: string[] = [];
  // Decoded before it is split: an upstream may treat %2F as a slash, and then so must the rule.
  for (const segment of isPlain ? path.split('/') : decoded(path).split(/[/\\]/)) {
    if (segment === '' || segment === '.') continue;
    if (segment === '..') segments.pop();
    else segments.push(segment);
  }
  return segments;
}

function decoded(path: string): string {
  if (!path.includes('%')) return path;
  try {
    return decodeURIComponent(path);
  } catch {
    return path.replace(/%[0-7][0-9a-f]/gi, (escape) => String.fromCharCode(Number.parseInt(escape.slice(1), 16)));
  }
}

import { pathPatternFault } from '../matching/path-pattern.js';

/**
 * Patterns as other routers and regular expressions write them. Here they are ordinary characters, so they would be compared with paths as they stand, and no
 * request would ever match. No path has brackets, backslashes and the like unless they are percent-encoded (RFC 3986), and so may a pattern that means them.
 */
export interface ForeignSyntax {
  readonly segment: string;
  /** The whole pattern as it is written here, if that can be told. */
  readonly instead: string | undefined;
}

const NO_PATH_HAS = /[{}[\]<>\\^|"`]/;
/** `:id`, `(.*)`, `(?:`, `+`, `.+`, `...` */
const OTHER_WORDS = /^:[A-Za-z_]|\([.?*]|^\.?\+$|^\.\.\.$/;

/** Of wildcards that stand for any number of segments: `{path*}`, `{**path}`, `{path...}`, `:path*`, `(.*)`, `.+`, `...` */
const MANY_SEGMENTS = /^(?:\{\*.*\}|\{.*(?:\*|\.\.\.)\}|:\w+[*+]|\(?\.[*+]\)?|\.\.\.)$/;

/** A character that is none of one segment, as regular expressions say it. */
const NO_SLASH = /\(?\[\^\\?\/\][+*]\)?/g;

/** The first segment of a pattern that is written in another language. */
export function foreignSyntaxIn(pattern: string): ForeignSyntax | undefined {
  const segments = pattern.replace(NO_SLASH, '[^]').slice(1).split('/');
  const segment = segments.find(isForeign);
  if (segment === undefined) return undefined;
  const instead = `/${segments.map((each) => (isForeign(each) ? ours(each) : each)).join('/')}`;
  const isRight = pathPatternFault(instead) === undefined && !instead.slice(1).split('/').some(isForeign);
  return { segment: segment === '[^]' ? '[^/]' : segment, instead: isRight ? instead : undefined };
}

/** Whether a pattern is legal and yet was probably meant as a regular expression: `/v1/.*` concerns names that begin with a dot. */
export function looksLikeExpression(pattern: string): boolean {
  return /\/\.\*(?:\/|$)|[^/]\$$/.test(pattern);
}

function isForeign(segment: string): boolean {
  return NO_PATH_HAS.test(segment) || OTHER_WORDS.test(segment);
}

function ours(segment: string): string {
  if (MANY_SEGMENTS.test(segment)) return '**';
  const start = segment.search(/[:{}[\]<>\\^|"`(]/);
  const end = /^.*(?:\\.|[{}[\]<>^|"`)])[+*?]?/.exec(segment)?.[0].length ?? segment.length;
  const instead = `${segment.slice(0, Math.max(0, start))}*${segment.slice(end)}`;
  return instead.split('*').length === 2 ? instead : '*';
}

import { HeaderKind, headerKind } from './header-kind.js';

/**
 * What RFC 9110, 6.5.1 keeps out of trailers, because it was needed before them: how a message is framed, routed, authenticated, cached and read. Headers that the gateway
 * itself reads or sets are known by their kind.
 */
const FORBIDDEN: ReadonlySet<string> = new Set([
  'accept-ranges',
  'age',
  'allow',
  'alt-svc',
  'authorization',
  'cache-control',
  'clear-site-data',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-location',
  'content-range',
  'content-security-policy',
  'content-type',
  'cookie',
  'date',
  'expires',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'last-modified',
  'link',
  'location',
  'max-forwards',
  'origin',
  'pragma',
  'range',
  'refresh',
  'retry-after',
  'set-cookie',
  'strict-transport-security',
  'vary',
  'warning',
  'www-authenticate',
]);

/** Nobody needs more. */
const MOST_TRAILERS = 64;

/**
 * The trailers that may go on, as pairs of name and value. What is left out makes no difference to those who follow the RFC.
 *
 * @param raw names and values alternating
 */
export function allowedTrailers(raw: readonly string[]): [string, string][] {
  const allowed: [string, string][] = [];
  for (let i = 0; i < raw.length && allowed.length < MOST_TRAILERS; i += 2) {
    const name = raw[i]!;
    const lowerCase = name.toLowerCase();
    if (headerKind(name) !== HeaderKind.Other || FORBIDDEN.has(lowerCase) || lowerCase.startsWith('access-control-')) continue;
    allowed.push([name, raw[i + 1]!]);
  }
  return allowed;
}

import type { RateLimitHeaderStyle, RateLimitReset } from '#platform';
import { type HeadersOf, overLimitHeader, rateLimitHeaders, type ShownLimit } from './rate-limit-headers.js';

/** How headers tell of limits, by configuration. @param nowMs the clock on the wall, for a reset that is an instant */
export function headersIn(style: RateLimitHeaderStyle, reset: RateLimitReset = 'seconds', nowMs: () => number = Date.now): HeadersOf {
  if (style === 'draft') return rateLimitHeaders;
  if (style === 'none') return () => [];
  if (style === 'legacy') return (limits) => [...legacyHeaders(limits, reset, nowMs), ...overLimitHeader(limits)];
  return (limits) => [...rateLimitHeaders(limits), ...legacyHeaders(limits, reset, nowMs)];
}

/**
 * X-RateLimit-Limit, -Remaining and -Reset, which no standard defines. They have room for one limit: the one that says most about what the client may
 * do next. The reset is when all of it is there again.
 */
function legacyHeaders(limits: readonly ShownLimit[], reset: RateLimitReset, nowMs: () => number): string[] {
  if (limits.length === 0) return [];
  const { limit, remaining, resetAfterMs } = tightestOf(limits).decision;
  const resets = reset === 'epoch' ? (nowMs() + resetAfterMs) / 1000 : resetAfterMs / 1000;
  const values = { Limit: limit, Remaining: remaining, Reset: Math.ceil(resets) };
  return Object.entries(values).flatMap(([name, value]) => [`X-RateLimit-${name}`, String(value)]);
}

/** The limit that says most about what the client may do next. @param limits at least one */
export function tightestOf<L extends ShownLimit>(limits: readonly L[]): L {
  return limits.reduce((a, b) => (isTighter(b, a) ? b : a));
}

/** One that refuses is tighter than one that does not; then the one with less left, and then the one that takes longer to fill. */
function isTighter({ decision: a }: ShownLimit, { decision: b }: ShownLimit): boolean {
  if (a.allowed !== b.allowed) return !a.allowed;
  if (a.remaining !== b.remaining) return a.remaining < b.remaining;
  return a.resetAfterMs > b.resetAfterMs;
}

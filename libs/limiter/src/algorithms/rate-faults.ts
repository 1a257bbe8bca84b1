import { INTERVAL_TOKENS, relationFault } from '../fields/common-fields.js';
import type { RelationFault } from '../fields/field.js';
import { rateOf, spanOf, type Rate } from './exact-span.js';

/** What must hold between the tokens, the interval and the capacity of whatever refills or drains at a constant rate. */

/** A refill is never faster than this: Redis' clock counts microseconds. */
const MAX_TOKENS_PER_SECOND = 1_000_000;

/** Ten years: a bucket that takes longer to fill never tells the truth in anyone's lifetime of the rule. */
export const MAX_TIME_TO_FULL_MS = 10 * 365 * 86_400_000;

/** Largest denominator for which sums of spans stay exact in a double. */
const MAX_DENOMINATOR = 94_906_265;

interface RatedSpec {
  readonly capacity: number;
  readonly initialTokens?: number;
}

/** @param field the one that holds `tokens` */
export function rateFaults(spec: RatedSpec, field: string, tokens: number, intervalMs: number): RelationFault[] {
  const most = (MAX_TOKENS_PER_SECOND / 1000) * intervalMs;
  if (tokens > most) {
    const expected = `must be at most ${most} for an interval of ${intervalMs} ms (${MAX_TOKENS_PER_SECOND} tokens a second)`;
    return [relationFault(spec, field, 'too_fast', expected, most)];
  }
  const rate = rateOf(tokens, intervalMs);
  if (rate.n > MAX_DENOMINATOR) {
    const expected = `must be at most ${MAX_DENOMINATOR} or share a factor with the interval`;
    return [relationFault(spec, field, 'inexact', expected, nearestExact(tokens, intervalMs, most))];
  }
  const surplus = surplusFaults(spec);
  if (surplus.length > 0) return surplus;
  const { capacity, initialTokens = 0 } = spec;
  const longest = Math.max(capacity, initialTokens);
  if (spanOf(longest, rate).whole <= MAX_TIME_TO_FULL_MS * 1000) return [];
  return [
    relationFault(
      spec,
      longest === capacity ? 'capacity' : 'initialTokens',
      'too_slow',
      'must be filled within ten years at this rate',
      mostWithin(MAX_TIME_TO_FULL_MS, rate),
    ),
  ];
}

/** A bucket that holds nothing cannot start with something. */
export function surplusFaults(spec: RatedSpec): RelationFault[] {
  if (spec.capacity > 0 || (spec.initialTokens ?? 0) === 0) return [];
  return [relationFault(spec, 'initialTokens', 'surplus_of_nothing', 'must be 0 where the capacity is 0, which lets nothing pass', 0)];
}

/** The most tokens that come back in a time, not counting a fraction of a microsecond; the products leave the whole numbers of a double. */
function mostWithin(timeMs: number, { n, intervalUs }: Rate): number {
  const endUs = BigInt(timeMs) * 1000n + 1n;
  return Number((endUs * BigInt(n) - 1n) / BigInt(intervalUs));
}

/** The next number of tokens whose spans stay exact: a thousand away at most, because intervals are whole milliseconds. */
function nearestExact(tokens: number, intervalMs: number, most: number): number {
  const isExact = (each: number): boolean => each <= Math.min(most, INTERVAL_TOKENS.max) && rateOf(each, intervalMs).n <= MAX_DENOMINATOR;
  for (let away = 1; ; away++) {
    if (isExact(tokens - away)) return tokens - away;
    if (isExact(tokens + away)) return tokens + away;
  }
}

/** Whose requests are answered while something is broken. */
import type { RuleSpec } from '#limiter';
import { burst } from '#limiter/testing';
import { ruleSpec } from '../support/factories/rules.js';

/** Merchants by what their rules say for a store that is away, and two that ask for twice their limit: one whose every take is Redis's, and one whose gateways take tokens in advance. */
export const MERCHANTS = ['open', 'closed', 'local', 'limited', 'leased'] as const;
export type Merchant = (typeof MERCHANTS)[number];

/** The merchants that ask for twice their limit. */
export const OVER_LIMIT = ['limited', 'leased'] as const satisfies readonly Merchant[];
export type OverLimit = (typeof OVER_LIMIT)[number];

export const LIMIT = { capacity: 25, perSecond: 25 };

/** What a bucket that is lost lets pass once more. What gateways hold of it is theirs until it ends: half of the capacity, see docs/leases.md. */
export const PASSES_AGAIN: Readonly<Record<OverLimit, number>> = { limited: LIMIT.capacity, leased: 1.5 * LIMIT.capacity };

export function isOverLimit(merchant: Merchant): merchant is OverLimit {
  return OVER_LIMIT.includes(merchant as OverLimit);
}

/** The only rule of each. */
export function ruleOf(merchant: Merchant): RuleSpec {
  const [capacity, refillTokens] = isOverLimit(merchant) ? [LIMIT.capacity, LIMIT.perSecond] : [1_000_000, 1_000_000];
  return ruleSpec({
    match: { methods: [], paths: [] },
    limits: [burst({ capacity, refillTokens, refillIntervalMs: 1_000 })],
    onStoreFailure: merchant === 'limited' ? 'closed' : merchant,
    ...(merchant === 'leased' && { consistency: 'leased' }),
  });
}

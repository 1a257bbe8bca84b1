/** Whose requests are answered while something is broken. */
import type { RuleSpec } from '#limiter';
import { burst } from '#limiter/testing';
import { ruleSpec } from '../support/factories/rules.js';

/** Merchants by what their rules say for a store that is away, and one that asks for twice its limit. */
export const MERCHANTS = ['open', 'closed', 'local', 'limited'] as const;
export type Merchant = (typeof MERCHANTS)[number];

export const LIMITED = { capacity: 25, perSecond: 25 };

/** The only rule of each. */
export function ruleOf(merchant: Merchant): RuleSpec {
  const [capacity, refillTokens] = merchant === 'limited' ? [LIMITED.capacity, LIMITED.perSecond] : [1_000_000, 1_000_000];
  return ruleSpec({
    match: { methods: [], paths: [] },
    limits: [burst({ capacity, refillTokens, refillIntervalMs: 1_000 })],
    onStoreFailure: merchant === 'limited' ? 'closed' : merchant,
  });
}

import { merchantRules, MemoryBucketStore, RateLimiter, startLimits, type Descriptor, type Rule, type Verdict } from '../src/index.js';
import { burst } from './takes.js';

/** A rule of a merchant for all of its requests, with one limit that started at time 0: ten at once, and one more each `refillIntervalMs`. */
export function ruleOf(
  id: string,
  { capacity = 10, refillIntervalMs = 1000, ...changes }: Partial<Rule> & { capacity?: number; refillIntervalMs?: number } = {},
): Rule {
  return {
    id,
    name: `rule ${id}`,
    layer: 'merchant',
    priority: 100,
    enabled: true,
    mode: 'enforce',
    match: { methods: [], paths: [] },
    key: ['merchant'],
    limits: startLimits([burst({ capacity, refillTokens: 1, refillIntervalMs })], 0),
    cost: 1,
    onStoreFailure: 'local',
    ...changes,
  };
}

/** A request of acme. */
const REQUEST: Descriptor = { merchantId: 'acme', ip: '192.0.2.7', method: 'GET', target: '/' };

/** The verdicts of so many requests, one after the other, at one instant. */
export function verdictsOf(rules: readonly Rule[], requests: number, descriptor = REQUEST): Verdict[] {
  const store = new MemoryBucketStore(() => 1_000_000);
  const limiter = new RateLimiter(store, store);
  const compiled = merchantRules(descriptor.merchantId, rules, []);
  return Array.from({ length: requests }, () => {
    let found: Verdict | undefined;
    limiter.check(compiled, descriptor, (outcome) => (found = outcome as Verdict));
    return found!;
  });
}

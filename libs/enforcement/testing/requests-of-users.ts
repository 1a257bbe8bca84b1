import { MemoryBucketStore, merchantRules, RateLimiter, type Descriptor, type Rule, type Verdict } from '#limiter';

/** Requests with users, decided about by these rules of whatever merchant. What was decided is handed over. */
export function requestsOfUsers(rules: readonly Rule[], decided: (descriptor: Descriptor, verdict: Verdict) => void) {
  const store = new MemoryBucketStore(() => 1_000_000);
  const limiter = new RateLimiter(store, store);
  return (requests: number, user: string, merchantId = 'acme'): void => {
    for (let i = 0; i < requests; i++) {
      const descriptor: Descriptor = { merchantId, ip: '192.0.2.7', method: 'POST', target: '/login', user };
      limiter.check(merchantRules(merchantId, rules, []), descriptor, (outcome) => decided(descriptor, outcome as Verdict));
    }
  };
}

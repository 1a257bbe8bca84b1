import { MemoryBucketStore } from './stores/memory-bucket-store.js';
import { startLimits } from './limits/limit-edit.js';
import { merchantRules } from './matching/merchant-rules.js';
import { RateLimiter } from './rate-limiter.js';
import type { Rule } from './rules/rule.js';
import type { Verdict } from './verdict.js';
import { burst, FakeClock, ruleOf } from '#limiter/testing';

const NOTHING_COMES_BACK = burst({ capacity: 10, refillTokens: 1, refillIntervalMs: 86_400_000 });

function asking(changes: Partial<Rule> = {}) {
  const clock = new FakeClock();
  const store = new MemoryBucketStore(clock.now);
  const limiter = new RateLimiter(store, store);
  const rules = merchantRules('acme', [ruleOf('1', { limits: startLimits([NOTHING_COMES_BACK], 0), ...changes })], []);
  return (times?: number): string => {
    let said = '';
    limiter.check(rules, { merchantId: 'acme', ip: '', method: 'GET', target: '/', times }, (outcome) => {
      const { reason, limits } = outcome as Verdict;
      said = `${reason} ${limits[0]!.decision.remaining}`;
    });
    return said;
  };
}

test('a door that asks for several requests at once takes several times what the rule says', () => {
  const ask = asking({ cost: 2 });
  expect([ask(3), ask(1), ask(), ask(1)]).toEqual(['allowed 4', 'allowed 2', 'allowed 0', 'over_limit 0']);
});

test('a door that asks for none takes nothing, and passes where nothing is left', () => {
  const ask = asking();
  expect([ask(0), ask(10), ask(0)]).toEqual(['allowed 10', 'allowed 0', 'allowed 0']);
});

test.each([11, 1_000_000_000, Number.MAX_SAFE_INTEGER])('%d at once are more than there ever is, and cost nothing', (times) => {
  const ask = asking({ cost: 1_000 });
  expect([ask(times), ask(0)]).toEqual(['cost_exceeds_capacity 10', 'allowed 10']);
});

test('a rule whose key has more than the merchant counts them too', () => {
  const ask = asking({ key: ['merchant', 'method'] });
  expect([ask(4), ask(7), ask(6)]).toEqual(['allowed 6', 'over_limit 6', 'allowed 0']);
});

import { FakeClock, ruleOf } from '../../testing/index.js';
import { MemoryBucketStore } from '../stores/memory-bucket-store.js';
import { merchantRules } from '../matching/merchant-rules.js';
import type { NewerRule } from './newer-rule.js';
import { type CheckOutcome, RateLimiter } from '../rate-limiter.js';
import type { Rule } from './rule.js';

const RULE = ruleOf('1', { name: 'known', onStoreFailure: 'open' });

function outcomeOf(newerRules: readonly NewerRule[], method = 'GET', target = '/payments/1', own: readonly Rule[] = [RULE]): unknown {
  const store = new MemoryBucketStore(new FakeClock().now);
  const rules = merchantRules('acme', own, [], { newerRules });
  let outcome: CheckOutcome | undefined;
  new RateLimiter(store, store).check(rules, { merchantId: 'acme', ip: '', method, target }, (answer) => (outcome = answer));
  return outcome instanceof Error ? outcome : [outcome!.allowed, outcome!.reason];
}

const newer = (changes: Partial<NewerRule> = {}): NewerRule => ({
  id: '2',
  language: 9,
  onStoreFailure: 'closed',
  match: { methods: [], paths: [] },
  ...changes,
});

test('a rule that only a newer version can read refuses what it may concern, if it is closed', () => {
  expect(outcomeOf([newer()])).toEqual([false, 'store_unavailable']);
  expect(outcomeOf([newer({ match: { methods: ['GET'], paths: ['/payments/**'] } })], 'HEAD')).toEqual([false, 'store_unavailable']);
  expect(outcomeOf([newer({ match: { methods: [], paths: ['/payments/**'] } })], 'GET', '/payments/1', [])).toEqual([
    false,
    'store_unavailable',
  ]);
});

test.each([
  ['is not closed', newer({ onStoreFailure: 'open' })],
  ['would have a local bucket', newer({ onStoreFailure: 'local' })],
  ['is for another path', newer({ match: { methods: [], paths: ['/refunds/**'] } })],
  ['is for another method', newer({ match: { methods: ['POST'], paths: [] } })],
])('the other rules decide beside one that %s', (_, rule) => expect(outcomeOf([rule])).toEqual([true, 'allowed']));

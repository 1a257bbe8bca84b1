import type { Rule } from '#limiter';
import { ruleOf, verdictsOf as verdicts } from '#limiter/testing';
import { UsageCounters } from './usage-counters.js';

/** One more an hour. */
const rule = (id: string, changes: Parameters<typeof ruleOf>[1] = {}): Rule => ruleOf(id, { refillIntervalMs: 3_600_000, ...changes });

function counted(rules: readonly Rule[], requests: number) {
  const counters = new UsageCounters({ isMerchant: () => true });
  for (const verdict of verdicts(rules, requests)) counters.count('acme', verdict);
  return counters.take().flatMap(({ rules: usages }) => usages.map((usage) => ({ ...usage })));
}

test('requests that passed and were refused are counted under their rule, with the least that remained', () => {
  expect(counted([rule('1')], 3)).toEqual([{ ruleId: '1', passed: 3, refused: 0, shadowRefused: 0, leastPercent: 70 }]);
  expect(counted([rule('1')], 12)).toEqual([{ ruleId: '1', passed: 10, refused: 2, shadowRefused: 0, leastPercent: 0 }]);
  expect(counted([rule('1', { capacity: 0 })], 1)).toMatchObject([{ passed: 0, refused: 1, leastPercent: 0 }]);
});

test('a refusal is counted under the rule that refuses, and not under its neighbours', () => {
  const usages = counted([rule('1', { capacity: 2 }), rule('2', { layer: 'user' })], 5);
  expect(usages.map(({ ruleId, passed, refused }) => [ruleId, passed, refused])).toEqual([
    ['1', 2, 3],
    ['2', 2, 0],
  ]);
});

test('what a penalty refuses is counted under its rule', () => {
  const penalty = { refusals: 1, windowMs: 60_000, blockMs: 60_000 };
  const verdict = verdicts([rule('1', { capacity: 2, penalty }), rule('2', { layer: 'user' })], 5).at(-1)!;
  expect(verdict.reason).toBe('blocked');
  const counters = new UsageCounters({ isMerchant: () => true });
  // The limits have room again; only the penalty goes on.
  counters.count('acme', {
    ...verdict,
    limits: verdict.limits.map((each) => ({ ...each, decision: { ...each.decision, allowed: true } })),
  });
  expect(counters.take()[0]!.rules.map(({ ruleId, refused }) => [ruleId, refused])).toEqual([
    ['1', 1],
    ['2', 0],
  ]);
});

test('a shadow rule counts what passes it and what it would have refused', () => {
  const usages = counted([rule('1'), rule('2', { mode: 'shadow', capacity: 1 })], 3);
  expect(usages.find(({ ruleId }) => ruleId === '2')).toMatchObject({ passed: 1, refused: 0, shadowRefused: 2 });
});

test('without a matching rule, or without Redis, a request is counted under no rule', () => {
  expect(counted([], 2)).toEqual([{ ruleId: 'none', passed: 2, refused: 0, shadowRefused: 0, leastPercent: 100 }]);
});

test('ids that no merchant has are counted together, however many they are', () => {
  const asked: string[] = [];
  const counters = new UsageCounters({ isMerchant: (id) => (asked.push(id), id === 'acme') });
  const [verdict] = verdicts([rule('1')], 1);
  for (let i = 0; i < 50_000; i++) counters.count(`random ${i}`, verdict!);
  for (let i = 0; i < 1000; i++) counters.count('acme', verdict!);
  const taken = counters.take();
  expect(taken.map(({ merchantId, rules }) => [merchantId, rules[0]!.ruleId, rules[0]!.passed])).toEqual([
    ['acme', '1', 1000],
    ['', 'other', 50_000],
  ]);
  expect(asked.filter((id) => id === 'acme')).toHaveLength(1);
});

test('beyond the bound rules and merchants are counted together, apart from ids that no merchant has, and none is lost', () => {
  const counters = new UsageCounters({ isMerchant: () => true, mostPairs: 3 });
  const [both] = verdicts([rule('1'), rule('2', { layer: 'user' })], 1);
  for (const merchantId of ['a', 'b', 'c', 'a']) counters.count(merchantId, both!);
  const taken = counters.take();
  expect(taken.map(({ merchantId, rules }) => [merchantId, rules.map(({ ruleId, passed }) => `${ruleId}: ${passed}`)])).toEqual([
    ['a', ['1: 2', '2: 2']],
    ['b', ['1: 1']],
    ['', ['none: 3']],
  ]);
  expect(counters.take()).toEqual([]);
});

test('what a merchant keeps of its count is good for one rule and one flush', () => {
  const counters = new UsageCounters({ isMerchant: () => true });
  const keeper = { usage: undefined };
  const [first] = verdicts([rule('1')], 1);
  const [second] = verdicts([rule('2')], 1);
  const passed = () => counters.take().map(({ merchantId, rules }) => [merchantId, rules.map((each) => [each.ruleId, each.passed])]);
  for (const verdict of [first!, first!, second!, first!]) counters.count('acme', verdict, keeper);
  const shouldBe = [
    ['1', 3],
    ['2', 1],
  ];
  expect(passed()).toEqual([['acme', shouldBe]]);
  counters.count('acme', first!, keeper);
  expect(passed()).toEqual([['acme', [['1', 1]]]]);
});

test('a merchant for which there was no room in one flush is counted in the next one', () => {
  const counters = new UsageCounters({ isMerchant: () => true, mostPairs: 1 });
  const keepers = { acme: { usage: undefined }, other: { usage: undefined } };
  const [first] = verdicts([rule('1')], 1);
  const [second] = verdicts([rule('2')], 1);
  const count = (merchantId: keyof typeof keepers, verdict = first!) => counters.count(merchantId, verdict, keepers[merchantId]);
  const passed = () => counters.take().map(({ merchantId, rules }) => [merchantId, ...rules.map((each) => [each.ruleId, each.passed])]);
  count('acme');
  count('other');
  count('other');
  // No room for the second rule of a merchant that is counted, which takes nothing from the first.
  count('acme', second!);
  count('acme');
  expect(passed()).toEqual([
    ['acme', ['1', 2]],
    ['', ['none', 3]],
  ]);
  count('other');
  expect(passed()).toEqual([['other', ['1', 1]]]);
});

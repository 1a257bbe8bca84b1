import { MemoryBucketStore, merchantRules, RateLimiter, startLimits, type Rule, type Verdict } from '#limiter';
import { limitEventOf, LimitNotes } from './limit-notes.js';

const rule = (id: string, capacity: number, changes: Partial<Rule> = {}): Rule => ({
  id,
  name: `rule ${id}`,
  layer: 'merchant',
  priority: 100,
  enabled: true,
  mode: 'enforce',
  match: { methods: [], paths: [] },
  key: ['merchant'],
  limits: startLimits(
    [{ name: 'burst', algorithm: 'token_bucket', capacity, refillTokens: 1, refillIntervalMs: 3_600_000, refill: 'greedy' }],
    0,
  ),
  cost: 1,
  onStoreFailure: 'closed',
  ...changes,
});

/** The verdicts of so many requests of a merchant, one after the other. */
function verdicts(rules: readonly Rule[], requests: number): Verdict[] {
  const store = new MemoryBucketStore(() => 1_000_000);
  const limiter = new RateLimiter(store, store);
  const compiled = merchantRules('acme', rules, []);
  return Array.from({ length: requests }, () => {
    let found: Verdict | undefined;
    limiter.check(compiled, { merchantId: 'acme', ip: '192.0.2.7', method: 'GET', target: '/' }, (outcome) => (found = outcome as Verdict));
    return found!;
  });
}

const clock = { nowMs: 0 };
const notes = (options: { isMerchant?: boolean; mostNotes?: number } = {}) =>
  new LimitNotes({ isMerchant: () => options.isMerchant ?? true, now: () => clock.nowMs, mostNotes: options.mostNotes ?? 100 });

function noted(rules: readonly Rule[], requests: number) {
  const kept = notes();
  for (const verdict of verdicts(rules, requests)) kept.note('acme', verdict);
  return kept.take().map(({ kind, ruleId, capacity, remaining }) => `${kind} of rule ${ruleId}: ${remaining} of ${capacity}`);
}

test.each([
  [7, []],
  [8, ['limit.80 of rule 1: 2 of 10']],
  [10, ['limit.80 of rule 1: 2 of 10']],
  [30, ['limit.80 of rule 1: 2 of 10', 'limit.100 of rule 1: 0 of 10']],
])('after %d requests to a limit of 10 what is noted is %j', (requests, expected) => {
  expect(noted([rule('1', 10)], requests)).toEqual(expected);
});

test('a fifth of a limit is meant, not a fifth of it rounded down', () => {
  expect(noted([rule('1', 1004)], 803)).toEqual([]);
  expect(noted([rule('1', 1004)], 804)).toEqual(['limit.80 of rule 1: 200 of 1004']);
});

test('only the limit that refuses is noted as used up, and a limit of 0 never as nearly used', () => {
  expect(noted([rule('1', 0), rule('2', 100, { layer: 'user' })], 3)).toEqual(['limit.100 of rule 1: 0 of 0']);
});

test('what a shadow rule would have refused is not noted', () => {
  expect(noted([rule('1', 1, { mode: 'shadow' })], 3)).toEqual([]);
});

test('what was decided while the store was away is not noted, nor what an operator has blocked', () => {
  const kept = notes();
  const verdict = verdicts([rule('1', 1)], 2).at(-1)!;
  kept.note('acme', { ...verdict, source: 'local' });
  const blocked = verdict.limits.map((report) => ({ ...report, decision: { ...report.decision, blocked: true as const } }));
  kept.note('acme', { ...verdict, limits: blocked });
  expect(kept.take()).toEqual([]);
});

test('ids that no merchant has are not noted, and there is a bound for all and for each', () => {
  const [verdict] = verdicts([rule('1', 1)], 1) as [Verdict];
  const strangers = notes({ isMerchant: false });
  strangers.note('acme', verdict);
  expect(strangers.take()).toEqual([]);
  const few = notes({ mostNotes: 2 });
  for (const merchantId of ['acme', 'other', 'third']) few.note(merchantId, verdict);
  expect(few.take().map(({ merchantId }) => merchantId)).toEqual(['acme', 'other']);
  expect(few.dropped).toEqual({ too_many: 1, too_old: 0 });
  const many = notes({ mostNotes: 1_000 });
  for (let id = 1; id <= 101; id++) many.note('acme', verdicts([rule(String(id), 1)], 1)[0]!);
  expect(many.take()).toHaveLength(100);
});

test('what could not be told is told with its age, unless it is old, and once', () => {
  const kept = notes();
  const [verdict] = verdicts([rule('1', 1)], 1) as [Verdict];
  clock.nowMs = 1_000;
  kept.note('acme', verdict);
  const taken = kept.take();
  clock.nowMs = 6_000;
  kept.putBack(taken);
  kept.note('acme', verdict);
  const again = kept.take();
  expect(again.map((note) => limitEventOf(note, clock.nowMs).ageMs)).toEqual([5_000]);
  clock.nowMs = 601_001;
  kept.putBack(again);
  expect([kept.take(), kept.dropped]).toEqual([[], { too_many: 0, too_old: 1 }]);
});

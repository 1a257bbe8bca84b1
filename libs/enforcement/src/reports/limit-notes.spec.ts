import type { Rule, Verdict } from '#limiter';
import { ruleOf, verdictsOf } from '#limiter/testing';
import { limitEventOf, LimitNotes } from './limit-notes.js';

/** One more an hour. */
const rule = (id: string, capacity: number, changes: Partial<Rule> = {}): Rule =>
  ruleOf(id, { capacity, refillIntervalMs: 3_600_000, ...changes });

const clock = { nowMs: 0 };
const notes = (options: { isMerchant?: boolean; mostNotes?: number } = {}) =>
  new LimitNotes({ isMerchant: () => options.isMerchant ?? true, now: () => clock.nowMs, mostNotes: options.mostNotes ?? 100 });

function noted(rules: readonly Rule[], requests: number) {
  const kept = notes();
  for (const verdict of verdictsOf(rules, requests)) kept.note('acme', verdict);
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

test('a limit is nearly used at four fifths of it, not of its rounded value', () => {
  expect(noted([rule('1', 1004)], 803)).toEqual([]);
  expect(noted([rule('1', 1004)], 804)).toEqual(['limit.80 of rule 1: 200 of 1004']);
});

test('of a limit of which half is reserved for other routes, what the request may use is nearly used, and used up', () => {
  const reserve = [{ name: 'captures', paths: ['/captures'], percent: 50 }];
  expect(noted([rule('1', 10, { reserve })], 3)).toEqual([]);
  expect(noted([rule('1', 10, { reserve })], 6)).toEqual(['limit.80 of rule 1: 1 of 5', 'limit.100 of rule 1: 0 of 5']);
});

test('only the limit that refuses is noted as used up, and a limit of 0 never as nearly used', () => {
  expect(noted([rule('1', 0), rule('2', 100, { layer: 'user' })], 3)).toEqual(['limit.100 of rule 1: 0 of 0']);
});

test('what a shadow rule would have refused is not noted', () => {
  expect(noted([rule('1', 1, { mode: 'shadow' })], 3)).toEqual([]);
});

test('decisions while the store was away are not noted, nor refusals by an operator’s block', () => {
  const kept = notes();
  const verdict = verdictsOf([rule('1', 1)], 2).at(-1)!;
  kept.note('acme', { ...verdict, source: 'local' });
  const blocked = verdict.limits.map((report) => ({ ...report, decision: { ...report.decision, blocked: true as const } }));
  kept.note('acme', { ...verdict, limits: blocked });
  expect(kept.take()).toEqual([]);
});

test('ids that no merchant has are not noted, and there is a bound for all and for each', () => {
  const [verdict] = verdictsOf([rule('1', 1)], 1) as [Verdict];
  const strangers = notes({ isMerchant: false });
  strangers.note('acme', verdict);
  expect(strangers.take()).toEqual([]);
  const few = notes({ mostNotes: 2 });
  for (const merchantId of ['acme', 'other', 'third']) few.note(merchantId, verdict);
  expect(few.take().map(({ merchantId }) => merchantId)).toEqual(['acme', 'other']);
  expect(few.dropped).toEqual({ too_many: 1, too_old: 0 });
  const many = notes({ mostNotes: 1_000 });
  for (let id = 1; id <= 101; id++) many.note('acme', verdictsOf([rule(String(id), 1)], 1)[0]!);
  expect(many.take()).toHaveLength(100);
});

test('a note that could not be sent is sent once with its age, unless it is too old', () => {
  const kept = notes();
  const [verdict] = verdictsOf([rule('1', 1)], 1) as [Verdict];
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

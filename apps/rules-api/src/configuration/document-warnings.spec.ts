import { completed, RULE_FIELDS, type RuleSpec } from '#limiter';
import type { RuleOwner } from '#rules-db';
import { DocumentWarnings, type RulesOfOwner, type WarningSources } from './document-warnings.js';

const LIMIT = { name: 'burst', algorithm: 'token_bucket', capacity: 10, refillTokens: 5, refillIntervalMs: 1_000 };
const spec = (name: string, changes: object = {}): RuleSpec =>
  completed({ name, limits: [LIMIT], ...changes }, RULE_FIELDS) as unknown as RuleSpec;
const on = (...paths: string[]) => ({ match: { methods: [], paths } });

function ofOwner(owner: RuleOwner, wanted: RuleSpec[], changes: Partial<RulesOfOwner> = {}): RulesOfOwner {
  return { owner, pointer: '/x', wanted, stored: [], written: new Set(wanted.map(({ name }) => name)), ...changes };
}

/** Nothing is stored. */
function looking(givenPlans: readonly string[] = []) {
  const reads: unknown[] = [];
  const rules = {
    ofOwners: async () => {
      reads.push('defaults');
      return Promise.resolve([]);
    },
    ofPlans: async (names: readonly string[]) => {
      reads.push(names);
      return Promise.resolve([]);
    },
  } as unknown as WarningSources['rules'];
  const document = { defaultRules: undefined, givenPlans: new Map(givenPlans.map((plan) => [plan, []])) };
  const sources = { rules, unreadable: { faultOf: () => undefined }, selection: undefined, document, nowMs: 0 };
  return { reads, warnings: new DocumentWarnings(sources) };
}

describe('the warnings of a document', () => {
  it('need nothing that is stored while no rule is written', async () => {
    const { reads, warnings } = looking();
    await warnings.look([ofOwner('acme', [spec('a'), spec('b')], { written: new Set(), plan: 'pro' })]);
    expect([reads, warnings.first]).toEqual([[], []]);
  });

  it('read default rules once, and the rules of a plan once for all merchants that have it', async () => {
    const { reads, warnings } = looking(['pro']);
    for (const id of ['a', 'b', 'c']) await warnings.look([ofOwner(id, [spec('x')], { plan: 'pro' })]);
    expect(reads).toEqual(['defaults', ['pro']]);
  });

  it('say of two new rules with one match that the one which stands first in the document is chosen', async () => {
    const { warnings } = looking();
    await warnings.look([
      ofOwner('acme', [spec('a', { priority: 7 }), ...Array.from({ length: 10 }, (_, i) => spec(`b ${i}`, on(`/${i}`)))]),
    ]);
    expect(warnings.first).toEqual([]);
    await warnings.look([ofOwner('beta', [spec('wide'), spec('narrow', on('/a'))])]);
    expect(warnings.first.map(({ code, pointer }) => [code, pointer])).toEqual([
      ['rule.shadows', '/x/0/priority'],
      ['rule.shadowed', '/x/1/priority'],
    ]);
  });

  it('keep the first hundred, and count the others', async () => {
    const { warnings } = looking();
    const rules = Array.from({ length: 100 }, (_, i) => spec(`r ${i}`));
    await warnings.look([ofOwner('acme', rules), ofOwner('beta', rules)]);
    expect([warnings.first.length, warnings.more]).toEqual([100, 100]);
  });

  it('compare the rules of merchants with ten thousand rules of plans, and not with more', async () => {
    const plans = Array.from({ length: 102 }, (_, i) => `plan-${i}`);
    const { warnings } = looking(plans);
    const first = spec('first', { priority: 900, ...on('/first') });
    const others = Array.from({ length: 99 }, (_, i) => spec(`r ${i}`, on(`/${i}`)));
    await warnings.look(plans.map((plan) => ofOwner({ plan }, [first, ...others], { written: new Set() })));
    const behind = spec('behind', on('/first'));
    await warnings.look([ofOwner('acme', [behind], { plan: 'plan-99' }), ofOwner('beta', [behind], { plan: 'plan-101' })]);
    expect([warnings.first.map(({ code }) => code), warnings.more]).toEqual([['rule.shadowed'], 0]);
  });
});

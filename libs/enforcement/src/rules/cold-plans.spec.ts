import type { PlanSnapshot } from '#limiter';
import type { Found } from '#limiter-redis';
import { ColdRules } from './cold-rules.js';
import { Hedge } from './hedge.js';
import { RulesUnavailableError } from './rule-source.js';

/** What Redis and the rule source have, and what was written back. */
function setUp(found: Found<PlanSnapshot> | 'away', stored: PlanSnapshot | null | 'away') {
  const written: string[] = [];
  let asked = 0;
  const cold = new ColdRules({
    snapshots: {
      find: () => Promise.reject(new Error('not asked')),
      findDefaultRules: () => Promise.reject(new Error('not asked')),
      findPlan: () => (found === 'away' ? Promise.reject(new Error('away')) : Promise.resolve(found)),
      write: () => Promise.resolve(),
      writePlan: ({ version }) => Promise.resolve(void written.push(`written ${version}`)),
      mend: () => Promise.resolve(),
      mendDefaultRules: () => Promise.resolve(),
      mendPlan: ({ version }) => Promise.resolve(void written.push(`mended ${version}`)),
    },
    ruleSource: {
      snapshot: () => Promise.reject(new Error('not asked')),
      defaultRules: () => Promise.reject(new Error('not asked')),
      plan: () => (asked++, stored === 'away' ? Promise.reject(new Error('away')) : Promise.resolve(stored)),
    },
    redisAvailable: () => true,
    hedge: new Hedge({ afterMs: 5, atOnce: 1, time: { after: () => () => {} } }),
    unknownIds: { allows: () => true, take: () => true, giveBack: () => {} },
  });
  return { cold, written, asked: () => asked };
}

const plan = (version: number, exists = true): PlanSnapshot => ({ plan: 'pro', version, exists, rules: [] });

test('a plan that Redis has costs no read of the rule source', async () => {
  const { cold, asked } = setUp({ value: plan(3) }, 'away');
  expect(await cold.readPlan('pro')).toEqual(plan(3));
  expect(asked()).toBe(0);
});

test.each<[string, Found<PlanSnapshot> | 'away', string[]]>([
  ['that Redis does not have is written there', { value: null }, ['written 4']],
  ['that cannot be read there is mended', { value: null, unreadable: { reason: 'malformed', sha1: '' } }, ['mended 4']],
  ['that is older there than what a bucket knows is replaced', { value: plan(3) }, ['written 4']],
  ['that was deleted once and created again is believed', { value: plan(3, false) }, ['written 4']],
  ['is read although Redis is away', 'away', ['written 4']],
])('a plan %s', async (_what, found, written) => {
  const { cold, written: seen } = setUp(found, plan(4));
  expect(await cold.readPlan('pro', 3)).toEqual(plan(4));
  expect(seen).toEqual(written);
});

test.each<[string, PlanSnapshot | null]>([
  ['never was', null],
  ['was deleted', plan(4, false)],
])('a plan that %s is none, and nothing is written', async (_what, stored) => {
  const { cold, written } = setUp({ value: null }, stored);
  expect(await cold.readPlan('pro')).toBeNull();
  expect(written).toEqual([]);
});

test('a plan that nobody can tell of is no plan without rules, but an error', async () => {
  await expect(setUp({ value: null }, 'away').cold.readPlan('pro')).rejects.toBeInstanceOf(RulesUnavailableError);
});

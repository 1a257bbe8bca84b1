import type { DefaultRulesSnapshot, MerchantSnapshot, PlanSnapshot } from '#limiter';
import type { Found } from '#limiter-redis';
import { NO_STORED_RULES, RedisRules } from './redis-rules.js';
import { RulesUnavailableError } from './rule-source.js';

type Answer<T> = Found<T> | 'away';
const UNREADABLE = { value: null, unreadable: { reason: 'malformed', sha1: '' } } as const;
const merchant = (exists: boolean): MerchantSnapshot => ({ merchantId: 'acme', version: 3, exists, timeZone: 'Etc/UTC', rules: [] });
const plan = (exists: boolean): PlanSnapshot => ({ plan: 'pro', version: 3, exists, rules: [] });
const DEFAULTS: DefaultRulesSnapshot = { version: 3, rules: [] };

function rulesOf<T>(answer: Answer<T>, redisAvailable = true): RedisRules {
  const find = () => (answer === 'away' ? Promise.reject(new Error('gone')) : Promise.resolve(answer as Found<never>));
  return new RedisRules({ snapshots: { find, findDefaultRules: find, findPlan: find }, redisAvailable: () => redisAvailable });
}

test('a merchant that Redis has never heard of is none, and one that was in memory is not forgotten', async () => {
  expect(await rulesOf({ value: merchant(true) }).read('acme')).toEqual(merchant(true));
  expect(await rulesOf({ value: null }).read('acme')).toBeNull();
  expect(await rulesOf({ value: merchant(false) }).read('acme', { known: true })).toBeNull();
  await expect(rulesOf({ value: null }).read('acme', { known: true })).rejects.toBeInstanceOf(RulesUnavailableError);
});

test.each<[string, Answer<never>, boolean]>([
  ['Redis breaks off', 'away', true],
  ['Redis is known to be away', { value: null }, false],
  ['Redis has something that cannot be read', UNREADABLE, true],
])('nobody is taken for unknown where %s', async (_what, answer, available) => {
  const rules = rulesOf(answer, available);
  for (const read of [rules.read('acme'), rules.readDefaultRules(), rules.readPlan('pro')])
    await expect(read).rejects.toBeInstanceOf(RulesUnavailableError);
});

test('default rules and plans that are missing are an error: a preloader always writes them', async () => {
  expect(await rulesOf({ value: DEFAULTS }).readDefaultRules()).toEqual(DEFAULTS);
  expect(await rulesOf({ value: plan(true) }).readPlan('pro')).toEqual(plan(true));
  expect(await rulesOf({ value: plan(false) }).readPlan('pro')).toBeNull();
  await expect(rulesOf({ value: null }).readDefaultRules()).rejects.toBeInstanceOf(RulesUnavailableError);
  await expect(rulesOf({ value: null }).readPlan('pro')).rejects.toBeInstanceOf(RulesUnavailableError);
});

test('where no rules are stored, each id is a merchant without rules', async () => {
  expect(await NO_STORED_RULES.read('anybody')).toMatchObject({ merchantId: 'anybody', exists: true, rules: [] });
  expect(await NO_STORED_RULES.readDefaultRules()).toMatchObject({ rules: [] });
});

import type { DefaultRulesSnapshot, MerchantSnapshot } from '#limiter';
import type { Found } from '#limiter-redis';
import { RunningTime } from '#waiting';
import { FakeHeart } from '../../../waiting/testing/fake-heart.js';
import { ColdRules } from './cold-rules.js';
import { Hedge } from './hedge.js';
import { RulesUnavailableError, TooManyUnknownError } from './rule-source.js';

const acme = (version: number): MerchantSnapshot => ({ merchantId: 'acme', version, exists: true, timeZone: 'Etc/UTC', rules: [] });
const UNREADABLE: Found<never> = { value: null, unreadable: { reason: 'malformed', sha1: '' } };

/** A Redis that is silent until the test answers for it, and a rule source that has version 4 of everything, or is away. */
function setUp({
  stored = acme(4),
  away = false,
  allowed = true,
}: { stored?: MerchantSnapshot | null; away?: boolean; allowed?: boolean } = {}) {
  const heart = new FakeHeart();
  const seen: string[] = [];
  let answer!: (found: Found<MerchantSnapshot & DefaultRulesSnapshot>) => void;
  const silent = () => new Promise<Found<MerchantSnapshot & DefaultRulesSnapshot>>((resolve) => (answer = resolve));
  const source = <T>(what: string, value: T): Promise<T> => (
    seen.push(what),
    away ? Promise.reject(new Error('away')) : Promise.resolve(value)
  );
  const cold = new ColdRules({
    snapshots: {
      find: silent,
      findDefaultRules: silent,
      findPlan: () => Promise.reject(new Error('not asked')),
      write: ([snapshot]) => Promise.resolve(void seen.push(`written ${snapshot?.version}`)),
      writePlan: () => Promise.resolve(),
      mend: ({ version }) => Promise.resolve(void seen.push(`mended ${version}`)),
      mendDefaultRules: () => Promise.resolve(),
      mendPlan: () => Promise.resolve(),
    },
    ruleSource: {
      snapshot: () => source('merchant', stored),
      defaultRules: () => source<DefaultRulesSnapshot>('default rules', { version: 4, rules: [] }),
      plan: () => Promise.reject(new Error('not asked')),
    },
    redisAvailable: () => true,
    hedge: new Hedge({ afterMs: 5, atOnce: 2, time: new RunningTime(heart) }),
    unknownIds: {
      allows: () => allowed,
      take: () => (seen.push('allowance taken'), true),
      giveBack: () => void seen.push('given back'),
    },
  });
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  return {
    cold,
    seen,
    answer: (found: Found<MerchantSnapshot | DefaultRulesSnapshot>) => answer(found as Found<MerchantSnapshot & DefaultRulesSnapshot>),
    /** So long that nobody waits for Redis alone any more. */
    pass: async () => {
      for (let i = 0; i < 3; i++) heart.pass(5, 0);
      await settled();
    },
  };
}

test('while Redis is silent, a merchant comes from the rule source, and is not waited for any longer', async () => {
  const { cold, pass, seen } = setUp();
  const read = cold.read('acme');
  await pass();
  expect(await read).toEqual(acme(4));
  expect(seen).toEqual(['allowance taken', 'merchant', 'given back', 'written 4']);
});

test('so do the default rules, at the same time', async () => {
  const { cold, pass, seen } = setUp();
  const reads = Promise.all([cold.readDefaultRules(), cold.read('acme')]);
  await pass();
  expect(await reads).toEqual([{ version: 4, rules: [] }, acme(4)]);
  expect(seen.filter((what) => what === 'merchant' || what === 'default rules')).toEqual(['default rules', 'merchant']);
});

test('a merchant that Redis has costs no read of the rule source, and no allowance', async () => {
  const { cold, answer, pass, seen } = setUp();
  const read = cold.read('acme');
  answer({ value: acme(3) });
  expect(await read).toEqual(acme(3));
  await pass();
  expect(seen).toEqual([]);
});

test('a Redis that answers late is believed if the rule source is away', async () => {
  const { cold, answer, pass } = setUp({ away: true });
  const read = cold.read('acme');
  await pass();
  answer({ value: acme(3) });
  expect(await read).toEqual(acme(3));
});

test('a rule source that was asked beside Redis is not asked again when Redis has nothing', async () => {
  const { cold, answer, pass, seen } = setUp({ away: true });
  const read = cold.read('acme');
  await pass();
  answer({ value: null });
  await expect(read).rejects.toBeInstanceOf(RulesUnavailableError);
  expect(seen).toEqual(['allowance taken', 'merchant']);
});

test('an id that nobody created is looked up once, by the allowance', async () => {
  const { cold, pass, seen } = setUp({ stored: null });
  const read = cold.read('nobody');
  await pass();
  expect(await read).toBeNull();
  expect(seen).toEqual(['allowance taken', 'merchant']);
});

test('ids over the allowance are not looked up beside Redis either, but a merchant that Redis knows is found', async () => {
  const { cold, answer, pass, seen } = setUp({ allowed: false });
  const unknown = cold.read('nobody');
  await pass();
  expect(seen).toEqual([]);
  answer({ value: null });
  await expect(unknown).rejects.toBeInstanceOf(TooManyUnknownError);
  const known = cold.read('acme');
  await pass();
  expect(seen).toEqual([]);
  answer(UNREADABLE);
  expect(await known).toEqual(acme(4));
  expect(seen).toEqual(['merchant', 'mended 4']);
});

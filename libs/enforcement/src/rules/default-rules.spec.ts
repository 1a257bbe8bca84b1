import type { Switch } from '#limiter';
import { ruleOf } from '#limiter/testing';
import { DefaultRules } from './default-rules.js';

const KILL: Switch = { name: 'kill', layer: null, merchantId: null, untilMs: 2_000 };
const SHADOW: Switch = { ...KILL, name: 'shadow', untilMs: null };

function setUp(switches: readonly Switch[]) {
  const clock = { ms: 1_000 };
  let version = 0;
  const rules = new DefaultRules({
    read: () => Promise.resolve({ version: ++version, rules: [], switches }),
    now: () => 0,
    storeNow: () => clock.ms,
    onAdopted: () => {},
  });
  return { clock, rules };
}

test('what is compiled is compiled again when a switch ends, and not before', async () => {
  const { clock, rules } = setUp([KILL, SHADOW]);
  await rules.load();
  const before = rules.current;
  expect(before?.switches).toEqual([KILL, SHADOW]);
  clock.ms = 1_999;
  expect(rules.current).toBe(before);
  clock.ms = 2_000;
  const after = rules.current;
  expect(after).not.toBe(before);
  expect(after?.switches).toEqual([SHADOW]);
  clock.ms = 1e12;
  expect(rules.current).toBe(after);
});

test('a clock that steps back switches nothing on again in a process that saw the end', async () => {
  const { clock, rules } = setUp([KILL]);
  await rules.load();
  clock.ms = 2_000;
  expect(rules.current?.switches).toEqual([]);
  clock.ms = 0;
  expect(rules.current?.switches).toEqual([]);
});

test('switches of this process stand beside those that all have, and outlive a new version of them', async () => {
  const { clock, rules } = setUp([KILL]);
  rules.switchHere([SHADOW]);
  expect(rules.current).toBeUndefined();
  await rules.load();
  expect(rules.current?.switches).toEqual([KILL, SHADOW]);
  rules.changed();
  await rules.load();
  expect(rules.current).toMatchObject({ version: 2, switches: [KILL, SHADOW] });
  rules.switchHere([{ ...SHADOW, untilMs: 1_500 }]);
  clock.ms = 1_500;
  expect(rules.current?.switches).toEqual([KILL]);
  rules.switchHere([]);
  expect(rules.current?.switches).toEqual([KILL]);
});

test('rules of this process stand beside those that all have, through every change of either', async () => {
  const { rules } = setUp([]);
  const here = [ruleOf('4503599627370496', { capacity: 2 })];
  rules.rulesHere(here);
  expect(rules.current).toBeUndefined();
  await rules.load();
  expect(rules.current?.rules).toEqual(here);
  rules.changed();
  await rules.load();
  expect(rules.current).toMatchObject({ version: 2, rules: here });
  rules.rulesHere([]);
  expect(rules.current?.rules).toEqual([]);
});

import type { Switch } from '#limiter';
import { ruleOf } from '#limiter/testing';
import { DefaultRules } from './default-rules.js';
import { RETRY_MS } from './freshness.js';
import { RulesUnavailableError } from './rule-source.js';

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

describe('when they change', () => {
  /** Each read is answered when the test says so. */
  function setUpReads() {
    const clock = { ms: 0 };
    const reads: { answer: (version: number) => Promise<void>; fail: () => Promise<void> }[] = [];
    const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
    const rules = new DefaultRules({
      read: () =>
        new Promise((resolve, reject) => {
          reads.push({
            answer: (version) => (resolve({ version, rules: [] }), settled()),
            fail: () => (reject(new RulesUnavailableError('away')), settled()),
          });
        }),
      now: () => clock.ms,
      storeNow: () => 0,
      onAdopted: () => {},
    });
    return { clock, reads, rules };
  }

  test('they are read at once, before a request needs them, and requests that come sooner wait for that one read', async () => {
    const { reads, rules } = setUpReads();
    void rules.load();
    await reads[0]!.answer(1);
    expect(rules.isFresh).toBe(true);
    rules.changed();
    expect([reads.length, rules.isFresh]).toEqual([2, false]);
    const request = rules.load();
    await reads[1]!.answer(2);
    expect(await request).toMatchObject({ version: 2 });
    expect([reads.length, rules.isFresh, rules.current?.version]).toEqual([2, true, 2]);
  });

  test('a thousand changes during a read are one more read', async () => {
    const { reads, rules } = setUpReads();
    void rules.load();
    await reads[0]!.answer(1);
    for (let i = 0; i < 1000; i++) rules.changed();
    expect(reads).toHaveLength(2);
    await reads[1]!.answer(2);
    expect([reads.length, rules.isFresh]).toEqual([3, false]);
    await reads[2]!.answer(3);
    expect([reads.length, rules.isFresh, rules.current?.version]).toEqual([3, true, 3]);
  });

  test('and cannot be read, the old ones go on, also while that is tried again', async () => {
    const { clock, reads, rules } = setUpReads();
    void rules.load();
    await reads[0]!.answer(1);
    rules.changed();
    await reads[1]!.fail();
    expect([reads.length, rules.isFresh, rules.current?.version]).toEqual([2, true, 1]);
    clock.ms = RETRY_MS;
    expect(rules.isFresh).toBe(false);
    void rules.load();
    expect([reads.length, rules.isFresh]).toEqual([3, true]);
    await reads[2]!.answer(2);
    expect([rules.isFresh, rules.current?.version]).toEqual([true, 2]);
  });

  test('before there are any, nobody reads them but who wants them', () => {
    const { reads, rules } = setUpReads();
    rules.changed();
    expect(reads).toHaveLength(0);
  });
});

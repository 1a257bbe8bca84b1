import { createRedis, RedisUsageStore, usageKey, usageRankKey, type MerchantUsage, type RuleUsage } from '#limiter-redis';
import { redisForFile } from '../../support/redis-for-file.js';
import { shiftedRedis } from '../../support/shifted-redis.js';

const { redis } = await redisForFile();

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

let store: RedisUsageStore;
let number = 0;

beforeAll(async () => {
  store = new RedisUsageStore(redis);
});
beforeEach(() => redis.flushall());

const counts = (ruleId: string, numbers: Partial<RuleUsage> = {}): RuleUsage => ({
  ruleId,
  passed: 0,
  refused: 0,
  shadowRefused: 0,
  leastPercent: 100,
  ...numbers,
});
const of = (merchantId: string, ...rules: RuleUsage[]): MerchantUsage => ({ merchantId, rules });
const add = (merchants: readonly MerchantUsage[], ageMs = 0) =>
  store.add({ gateway: 'g1', number: (number += merchants.length + 1), merchants }, ageMs);
const lastDay = async (...merchantIds: string[]) => {
  const nowMs = await store.nowMs();
  return store.read(merchantIds, nowMs - 24 * HOUR, nowMs + MINUTE);
};
/** An age that leads into the middle of a minute, so that no minute ends between two calls. */
const minutesAgo = async (minutes: number) => minutes * MINUTE + ((await store.nowMs()) % MINUTE) - MINUTE / 2;
const hourNow = async () => Math.floor((await store.nowMs()) / HOUR);

test('adds up the counts of gateways by minute and rule, and keeps the smallest share that remained', async () => {
  const [ten, twelve] = [await minutesAgo(10), await minutesAgo(12)];
  await add([of('acme', counts('1', { passed: 3, leastPercent: 40 }))], ten);
  await add([of('acme', counts('1', { passed: 2, refused: 1, leastPercent: 0 }), counts('22', { shadowRefused: 5 }))], ten);
  await add([of('acme', counts('1', { passed: 7, leastPercent: 90 }))], twelve);
  await store.add({ gateway: 'g2', number: 1, merchants: [of('acme', counts('1', { passed: 100 }))] }, ten);
  const steps = (await lastDay('acme', 'other')).get('acme')!;
  expect(steps.map(({ atMs: _, ...step }) => step)).toEqual([
    { ruleId: '1', passed: 7, refused: 0, shadowRefused: 0, leastPercent: 90 },
    { ruleId: '1', passed: 105, refused: 1, shadowRefused: 0, leastPercent: 0 },
    { ruleId: '22', passed: 0, refused: 0, shadowRefused: 5, leastPercent: 100 },
  ]);
  expect(steps[1]!.atMs - steps[0]!.atMs).toBe(2 * MINUTE);
  expect((await lastDay('other')).get('other')).toEqual([]);
});

test('counts that are sent again are added once, also those of several calls', async () => {
  const merchants = Array.from({ length: 450 }, (_, i) => of(`m${i}`, counts('1', { passed: 1 })));
  const batch = { gateway: 'g3', number: 5, merchants };
  await store.add(batch, 0);
  await store.add(batch, 0);
  await store.add({ ...batch, number: 10, merchants: [of('m449', counts('1', { passed: 1 }))] }, 0);
  const found = await lastDay('m0', 'm449');
  expect([found.get('m0')!.map(({ passed }) => passed), found.get('m449')!.map(({ passed }) => passed)]).toEqual([[1], [2]]);
});

test('every key goes by itself, a day and two hours later at most', async () => {
  await add([of('acme', counts('1', { refused: 1, leastPercent: 0 })), of('b', counts('1', { passed: 1, leastPercent: 10 }))]);
  const keys = await redis.keys('*');
  expect(keys).toHaveLength(5);
  for (const key of keys) {
    const ttl = await redis.ttl(key);
    expect([key, ttl > 0 && ttl <= 26 * 3600]).toEqual([key, true]);
  }
});

test('a merchant whose rules are made anew again and again fills no more than a bounded hash', async () => {
  for (let from = 1; from <= 400; from += 100)
    await add([of('acme', ...Array.from({ length: 100 }, (_, i) => counts(String(from + i), { passed: 1 })))]);
  expect(await redis.hlen(usageKey('acme', await hourNow()))).toBe(301);
  const steps = (await lastDay('acme')).get('acme')!;
  expect(steps.find(({ ruleId }) => ruleId === 'other')?.passed).toBe(100);
  expect(steps.reduce((sum, { passed }) => sum + passed, 0)).toBe(400);
});

test('the numbers of one rule in all minutes of an hour take less than two kilobytes', async () => {
  const nowMs = await store.nowMs();
  for (let i = 0; i < 60; i++) await add([of('busy', counts('12345', { passed: 60_000, refused: 600, leastPercent: 0 }))], i * MINUTE);
  const keys = await redis.keys('tg:u:{busy}*');
  const bytes = await Promise.all(keys.map((key) => redis.memory('USAGE', key) as Promise<number>));
  expect(bytes.reduce((sum, each) => sum + each, 0)).toBeLessThan(2048 * Math.min(2, keys.length));
  expect((await store.read(['busy'], nowMs - HOUR - MINUTE, nowMs + MINUTE)).get('busy')!.length).toBeGreaterThanOrEqual(60);
});

test('the numbers of some rules are those that their merchants have, in the order in which they were asked for', async () => {
  const [ten, hours] = [await minutesAgo(10), await minutesAgo(200)];
  await add([of('a', counts('1', { passed: 1 }), counts('2', { passed: 2 })), of('b', counts('1', { passed: 3 }))], hours);
  await add([of('a', counts('1', { passed: 10 }))], ten);
  const nowMs = await store.nowMs();
  const asked = [
    ...Array.from({ length: 40 }, (_, i) => ({ merchantId: `nobody ${i}`, ruleId: '1' })),
    { merchantId: 'b', ruleId: '1' },
    { merchantId: 'a', ruleId: '1' },
  ];
  const found = await store.readRules(asked, nowMs - 24 * HOUR, nowMs + MINUTE);
  expect(found.map((steps) => steps.map(({ passed }) => passed))).toEqual([...Array<number[]>(40).fill([]), [3], [1, 10]]);
  expect((await store.readRules(asked.slice(-1), nowMs - HOUR, nowMs + MINUTE))[0]!.map(({ passed }) => passed)).toEqual([10]);
});

test('a day of a rule is told with the time of the server, and whether anything of it is missing', async () => {
  const lastDayOf = async (merchantId = 'a') => (await store.lastDay({ merchantId, ruleId: '1' }, await store.nowMs()))!;
  await add([of('a', counts('1', { passed: 1 }), counts('2', { passed: 9 }))], await minutesAgo(23 * 60));
  await add([of('a', counts('1', { passed: 2 })), of('', counts('other', { passed: 5 }))], await minutesAgo(5));
  const { fromMs, untilMs, steps, hasUncounted } = await lastDayOf();
  expect([steps.map(({ passed }) => passed), hasUncounted, untilMs - fromMs]).toEqual([[1, 2], false, 24 * HOUR]);
  await add([of('b', counts('none', { passed: 1 })), of('c', counts('other', { passed: 1 }))], await minutesAgo(5));
  expect([(await lastDayOf('b')).hasUncounted, (await lastDayOf('c')).hasUncounted, (await lastDayOf()).hasUncounted]).toEqual([
    true,
    true,
    false,
  ]);
  await add([of('', counts('none', { passed: 1 }))], await minutesAgo(5));
  expect((await lastDayOf()).hasUncounted).toBe(true);
  expect(await store.lastDay({ merchantId: 'a', ruleId: '1' }, (await store.nowMs()) + 2 * HOUR)).toBeUndefined();
});

describe('ranks', () => {
  const ranked = async (rank: 'refused' | 'near', most = 10) => {
    const nowMs = await store.nowMs();
    return (await store.ranked(rank, nowMs - HOUR, nowMs + MINUTE, most)).map(({ merchantId, ruleId }) => `${merchantId} ${ruleId}`);
  };

  test('name those that refused most, and those that came close to their limit without refusing', async () => {
    await add([
      of('a', counts('1', { refused: 5, leastPercent: 0 })),
      of('two words', counts('2', { refused: 9, leastPercent: 0 }), counts('3', { passed: 4, leastPercent: 20 })),
      of('c', counts('4', { passed: 4, leastPercent: 5 }), counts('5', { passed: 4, leastPercent: 80 })),
      of('', counts('other', { refused: 1000, leastPercent: 0 })),
    ]);
    await add([of('a', counts('1', { refused: 5, leastPercent: 0 }))]);
    expect(await ranked('refused')).toEqual(['a 1', 'two words 2']);
    expect(await ranked('refused', 1)).toEqual(['a 1']);
    expect(await ranked('near')).toEqual(['c 4', 'two words 3']);
  });

  test('are bounded, and whoever refuses most is found however many others refuse a little', async () => {
    for (let i = 0; i < 10; i++) {
      await add(Array.from({ length: 200 }, (_, n) => of(`m${i * 200 + n}`, counts('1', { refused: 1 }))));
      await add([of('worst', counts('1', { refused: 20 }))]);
    }
    expect(await redis.zcard(usageRankKey('refused', await hourNow()))).toBe(1000);
    expect((await ranked('refused'))[0]).toBe('worst 1');
  });
});

test('a value that is no count is left out, and a key of another type is replaced', async () => {
  const hour = await hourNow();
  const minute = Math.floor(((await store.nowMs()) % HOUR) / MINUTE);
  await redis.hset(usageKey('acme', hour), {
    '3': `;${minute},99999999999999999999,0,0,0`,
    '4': `;${minute},1,0,0`,
    '1': ';61,1,0,0,0;x;5,1,1;7,99999999999999999999,0,0,0',
    'no rule': ';1,1,1,1,1',
    '2': 'y'.repeat(10_000),
  });
  await redis.set(usageKey('b', hour), 'a text');
  await redis.set(usageRankKey('refused', hour), 'a text');
  await redis.zadd(usageRankKey('near', hour), 1, 'nomember', 2, ' ', 3, 'x\u0000 1');
  expect([...(await lastDay('acme', 'b'))]).toEqual([
    ['acme', []],
    ['b', []],
  ]);
  await add([
    of('acme', counts('1', { passed: 1 }), counts('2', { passed: 2 }), counts('3', { passed: 3 }), counts('4', { passed: 4 })),
    of('b', counts('1', { refused: 3 })),
  ]);
  const found = await lastDay('acme', 'b');
  expect(found.get('acme')!.map(({ passed }) => passed)).toEqual([1, 2, 3, 4]);
  expect(found.get('b')!.map(({ refused }) => refused)).toEqual([3]);
  expect(await store.ranked('near', hour * HOUR, hour * HOUR + HOUR, 10)).toEqual([]);
});

const shifted = await shiftedRedis();
(shifted ? test : test.skip)(
  'a clock of Redis that was an hour off writes nothing that stays, and the gateway’s own clock does not matter',
  async () => {
    const other = createRedis(shifted!.url, 'limiter');
    await new Promise((resolve) => other.once('ready', resolve));
    const onShifted = new RedisUsageStore(other);
    const now = Date.now;
    try {
      // A week ahead in this process: nobody asks it.
      Date.now = () => now() + 7 * 24 * HOUR;
      shifted!.shift(3600);
      await onShifted.add({ gateway: 'g', number: 1, merchants: [of('acme', counts('1', { passed: 1 }))] }, 0);
      shifted!.shift(0);
      await onShifted.add({ gateway: 'g', number: 2, merchants: [of('acme', counts('1', { passed: 10 }))] }, 0);
      const nowMs = await onShifted.nowMs();
      expect(Math.abs(nowMs - now())).toBeLessThan(MINUTE);
      expect((await onShifted.read(['acme'], nowMs - 24 * HOUR, nowMs + 1)).get('acme')!.map(({ passed }) => passed)).toEqual([10]);
      for (const key of await other.keys('*')) expect(await other.ttl(key)).toBeLessThanOrEqual(27 * 3600);
      const [ahead] = (await onShifted.read(['acme'], nowMs + 1, nowMs + 2 * HOUR)).get('acme')!;
      expect(ahead!.atMs).toBeLessThan(nowMs + HOUR + MINUTE);
    } finally {
      Date.now = now;
      other.disconnect();
      await shifted!.stop();
    }
  },
);

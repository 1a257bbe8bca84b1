import type { LimitSpec } from '../limits/limit.js';
import { type CountedMinute, type DayOfUse, type PastVersion, unusedBursts } from './unused-bursts.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const UNTIL = Date.parse('2026-11-22T10:20:30Z');
const FROM = UNTIL - DAY;

const burst = (capacity: number, changes: object = {}) =>
  ({ name: 'burst', algorithm: 'token_bucket', capacity, refillTokens: 5, refillIntervalMs: 1_000, ...changes }) as unknown as LimitSpec;
const minute = (atMs: number, leastPercent = 96, changes: Partial<CountedMinute> = {}): CountedMinute => ({
  atMs,
  passed: 3,
  refused: 0,
  shadowRefused: 0,
  leastPercent,
  ...changes,
});
/** A minute of each hour, and others. */
const hourly = Array.from({ length: 24 }, (_, i) => minute(FROM + i * HOUR + 60_000));
const day = (others: CountedMinute[] = [], changes: Partial<DayOfUse> = {}): DayOfUse => ({
  fromMs: FROM,
  untilMs: UNTIL,
  minutes: [...hourly, ...others],
  hasUncounted: false,
  ...changes,
});
const version = (capacity: number, fromMs = FROM - DAY, changes: object = {}): PastVersion => ({
  fromMs,
  rule: { mode: 'enforce', limits: [burst(capacity)], ...changes },
});
const said = (limits: LimitSpec[], use: DayOfUse, versions: PastVersion[]) =>
  unusedBursts({ limits }, use, versions).map(({ code, pointer }) => `${code} ${pointer}`);
const UNUSED = ['limit.capacity.unused /limits/0/capacity'];

test('a burst of which less than a tenth was used all day is said to be unused, and by how much', () => {
  expect(unusedBursts({ limits: [burst(100)] }, day(), [version(100)])).toEqual([
    {
      code: 'limit.capacity.unused',
      pointer: '/limits/0/capacity',
      detail: expect.stringContaining('at most 4 of the limit "burst"; got 100') as string,
    },
  ]);
});

const lastHour = FROM + 23 * HOUR + 120_000;

test.each<[string, LimitSpec[], DayOfUse, PastVersion[], string[]]>([
  ['a tenth of it', [burst(100)], day([minute(lastHour, 90)]), [version(100)], []],
  ['just less', [burst(100)], day([minute(lastHour, 91)]), [version(100)], UNUSED],
  ['a larger one than before', [burst(1_000)], day([minute(lastHour, 10)]), [version(100)], UNUSED],
  ['one that is not so much larger', [burst(900)], day([minute(lastHour, 10)]), [version(100)], []],
  ['one that was larger', [burst(100)], day(), [version(1_000)], []],
  ['the same by another algorithm', [burst(100, { algorithm: 'gcra' })], day(), [version(100)], UNUSED],
  ['a limit of a day', [burst(100, { algorithm: 'fixed_window' })], day(), [version(100)], []],
  ['a soft limit', [burst(100, { throttle: 'soft' })], day(), [version(100)], []],
  ['a limit that was soft', [burst(100)], day(), [version(100, FROM - 1, { limits: [burst(100, { throttle: 'soft' })] })], []],
  ['a limit of another name', [burst(100, { name: 'other' })], day(), [version(100)], []],
  ['a shadow rule', [burst(100)], day(), [version(100, FROM - 1, { mode: 'shadow' })], []],
  ['a rule that is younger than the day', [burst(100)], day(), [version(100, FROM + 1)], []],
  ['a rule of which nothing is known', [burst(100)], day(), [], []],
  ['an hour without requests', [burst(100)], day([], { minutes: hourly.slice(1) }), [version(100)], []],
  ['no request at all', [burst(100)], day([], { minutes: [] }), [version(100)], []],
  ['a refusal', [burst(100)], day([minute(lastHour, 96, { refused: 1 })]), [version(100)], []],
  ['a refusal of its shadow', [burst(100)], day([minute(lastHour, 96, { shadowRefused: 1 })]), [version(100)], []],
  ['requests of which nothing was taken', [burst(100)], day([minute(lastHour, 100)]), [version(100)], []],
  ['requests that were asked no rule', [burst(100)], day([], { hasUncounted: true }), [version(100)], []],
  ['a stored rule that is none', [burst(100)], day(), [{ fromMs: 0, rule: 'x' }], []],
  ['a stored limit that is none', [burst(100)], day(), [version(100, 0, { limits: [null, { name: 'burst', capacity: 'x' }] })], []],
])('of %s nothing is said that is not certain', (_what, limits, use, versions, warnings) => {
  expect(said(limits, use, versions)).toEqual(warnings);
});

test('what was counted around an edit counts for the version before and the one after', () => {
  const editMs = FROM + 12.5 * HOUR;
  const versions = [version(100), version(1_000, editMs)];
  // 4 of 100 before; the larger bucket has 4 % of 1,000 at most since.
  expect(said([burst(1_000)], day(), versions)).toEqual(UNUSED);
  expect(said([burst(1_000)], day([minute(editMs - 60_000, 80)]), versions)).toEqual([]);
  expect(said([burst(1_000)], day([minute(editMs + 200_000, 80)]), versions)).toEqual([]);
  // Long before the edit it is a share of the smaller bucket alone.
  expect(said([burst(1_000)], day([minute(editMs - HOUR, 80)]), versions)).toEqual(UNUSED);
});

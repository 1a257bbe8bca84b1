import * as fc from 'fast-check';
import { limitFaults } from '../limits/limit-faults.js';
import { startLimits } from '../limits/limit-edit.js';
import { MemoryBucketStore } from '../stores/memory-bucket-store.js';
import { bucketOf, decide } from '../buckets/bucket.js';
import type { LimitSpec } from '../limits/limit.js';
import { isUnreachable } from './unreachable-limits.js';

const spec = (numbers: object): LimitSpec => ({ name: 'x', ...numbers }) as unknown as LimitSpec;
const bucket = (capacity: number, refillTokens: number, refillIntervalMs: number, more: object = {}) =>
  spec({ algorithm: 'token_bucket', refill: 'greedy', capacity, refillTokens, refillIntervalMs, ...more });
const window = (limit: number, windowMs: number, more: object = {}) =>
  spec({ algorithm: 'fixed_window', start: 'clock', limit, windowMs, ...more });
const calendar = (limit: number, unit: string, more: object = {}) =>
  spec({ algorithm: 'fixed_window', start: 'clock', limit, calendar: unit, ...more });
const log = (limit: number, windowMs: number) => spec({ algorithm: 'sliding_log', limit, windowMs });
const counter = (limit: number, windowMs: number, parts = 1) => spec({ algorithm: 'sliding_counter', limit, windowMs, parts });
const slots = (limit: number, slotTimeoutMs: number) => spec({ algorithm: 'concurrency', limit, slotTimeoutMs });

describe('a stricter limit makes another one unreachable', () => {
  it.each<[string, LimitSpec, LimitSpec]>([
    ['a larger bucket that refills as fast', bucket(20, 5, 1_000), bucket(10, 5, 1_000)],
    [
      'cells beside a bucket',
      spec({ algorithm: 'gcra', capacity: 10, refillTokens: 600, refillIntervalMs: 60_000 }),
      bucket(10, 10, 1_000),
    ],
    ['a bucket of steps that hold one more', bucket(15, 5, 1_000, { refill: 'interval' }), bucket(10, 5, 1_000)],
    ['1,000 a minute beside 10 a second', window(1_000, 60_000), window(10, 1_000)],
    ['1,000 a day beside a bucket of 100 and 800 a day', log(900, 86_400_000), bucket(100, 800, 86_400_000)],
    ['a longer log beside a shorter one', log(100, 60_000), log(10, 6_000)],
    ['a larger counter of the same window', counter(20, 1_000, 4), counter(10, 1_000, 4)],
    ['31,000 a month beside 1,000 a day', calendar(31_000, 'month'), calendar(1_000, 'day')],
    ['more slots', slots(20, 1_000), slots(10, 1_000)],
    ['one beside a soft one', bucket(11, 5, 1_000), bucket(10, 5, 1_000, { throttle: 'soft', excessPercent: 10 })],
  ])('%s', (_what, limit, stricter) => {
    expect([limitFaults(limit), limitFaults(stricter)]).toEqual([[], []]);
    expect(isUnreachable(limit, stricter)).toBe(true);
  });

  it.each<[string, LimitSpec, LimitSpec]>([
    ['a larger bucket that refills more slowly', bucket(20, 4, 1_000), bucket(10, 5, 1_000)],
    ['1,000 calls a minute beside 20 a second', window(1_000, 60_000), window(20, 1_000)],
    ['30,000 a month beside 1,000 a day', calendar(30_000, 'month'), calendar(1_000, 'day')],
    ['a month of another zone', calendar(31_000, 'month', { timeZone: 'Asia/Tokyo' }), calendar(1_000, 'day')],
    ['a month beside weeks, which do not end with it', calendar(1_000, 'month'), calendar(200, 'week')],
    ['one that starts with less', bucket(20, 5, 1_000, { initialTokens: 1 }), bucket(10, 5, 1_000)],
    ['one beside a surplus', bucket(20, 5, 1_000), bucket(10, 5, 1_000, { initialTokens: 50 })],
    ['one beside an elastic one', bucket(20, 5, 1_000), bucket(10, 5, 1_000, { throttle: 'elastic' })],
    ['one beside a limit that lets nothing pass on purpose', bucket(20, 5, 1_000), bucket(0, 5, 1_000)],
    ['a soft one that says it is exceeded', bucket(10, 5, 1_000, { throttle: 'soft', excessPercent: 50 }), bucket(12, 5, 1_000)],
    [
      'a queue',
      spec({ algorithm: 'leaky_bucket', capacity: 20, drainTokens: 5, drainIntervalMs: 1_000, onLimit: { delay: { maxWaitMs: 10 } } }),
      bucket(10, 5, 1_000),
    ],
    [
      'windows from the first request, which may lie elsewhere',
      window(10, 1_000, { start: 'first_request' }),
      window(10, 1_000, { start: 'first_request' }),
    ],
  ])('but not %s', (_what, limit, stricter) => expect(isUnreachable(limit, stricter)).toBe(false));
});

const tokens = fc.integer({ min: 1, max: 6 });
const span = fc.constantFrom(7, 10, 20, 30, 60);
const anyLimit = (scale: number): fc.Arbitrary<LimitSpec> => {
  const large = tokens.map((n) => n * scale);
  const refill = { refillTokens: tokens, refillIntervalMs: span };
  const soft = fc.constantFrom({}, { throttle: 'soft', excessPercent: 50 });
  return fc
    .tuple(
      fc.oneof(
        fc.record({ algorithm: fc.constant('token_bucket'), refill: fc.constantFrom('greedy', 'interval'), capacity: large, ...refill }),
        fc.record({ algorithm: fc.constant('gcra'), capacity: large, ...refill }),
        fc.record({ algorithm: fc.constant('leaky_bucket'), capacity: large, drainTokens: tokens, drainIntervalMs: span }),
        fc.record({
          algorithm: fc.constant('fixed_window'),
          start: fc.constantFrom('clock', 'first_request'),
          limit: large,
          windowMs: span,
        }),
        fc.record({ algorithm: fc.constant('sliding_log'), limit: large, windowMs: span }),
        fc.record({ algorithm: fc.constant('sliding_counter'), limit: large, windowMs: span, parts: fc.constantFrom(1, 2, 5) }),
        fc.record({ algorithm: fc.constant('concurrency'), limit: large, slotTimeoutMs: span }),
      ),
      soft,
    )
    .map(([numbers, throttle]) => spec({ ...numbers, ...throttle }))
    .filter((each) => limitFaults(each).length === 0);
};

/** Pairs of which one limit is said to be unreachable, most of them only just. */
const pairs = fc
  .tuple(fc.oneof(anyLimit(1), anyLimit(2), anyLimit(4)), anyLimit(1))
  .filter(([limit, stricter]) => isUnreachable(limit, stricter));

/** Milliseconds from one burst to the next: within a window, just before its end, beyond it. */
const gapsMs = fc.array(fc.constantFrom(1, 2, 3, 6, 7, 9, 10, 19, 20, 29, 30, 59, 60, 61), { minLength: 20, maxLength: 20 });

/** A client that takes all it can get, burst by burst: whether the other limit refuses anything that the stricter one admits. */
function isContradicted(limit: LimitSpec, stricter: LimitSpec, cost: number, startMs: number, gaps: readonly number[]): boolean {
  let nowMs = startMs;
  const store = new MemoryBucketStore(() => nowMs);
  const takes = startLimits([stricter, { ...limit, name: 'y' }], nowMs).map((each, i) => ({
    key: String(i),
    bucket: bucketOf(each),
    cost,
  }));
  let holder = 0;
  /** What the two limits say to one more request. */
  const ask = (): readonly boolean[] => {
    let allowed: readonly boolean[] = [];
    const request = { takes, holder: ++holder, spare: false };
    store.take(request, (levels) => {
      if (levels instanceof Error) throw levels;
      allowed = takes.map((take, i) => decide(take.bucket, levels[i]!, cost, true).allowed);
    });
    if (holder % 3 === 0) store.release(request);
    return allowed;
  };
  return gaps.some((gapMs) => {
    nowMs += gapMs;
    let answers = ask();
    for (let asked = 0; asked < 20 && answers[0]! && answers[1]!; asked++) answers = ask();
    return answers[0]! && !answers[1]!;
  });
}

it('a limit that is said to be unreachable never refuses what the stricter one admits', () => {
  const runs = Number(process.env['PROPERTY_RUNS'] ?? 300);
  fc.assert(
    fc.property(
      pairs,
      fc.integer({ min: 1, max: 2 }),
      fc.integer({ min: 0, max: 100 }),
      gapsMs,
      ([limit, stricter], cost, startMs, gaps) => {
        if (isContradicted(limit, stricter, cost, 1_000_000 + startMs, gaps)) throw new Error('the other limit refused first');
      },
    ),
    { numRuns: runs },
  );
});

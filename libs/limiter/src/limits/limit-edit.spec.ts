import * as fc from 'fast-check';
import { burst as spec } from '../../testing/index.js';
import { runs } from '../../testing/properties/runs.js';
import { CALENDAR_UNITS, type LimitSpec, type TokenBucketSpec } from './limit.js';
import { editLimits, startLimits } from './limit-edit.js';
import { InvalidLimitError, limitFaults } from './limit-faults.js';

const byCalendar = { refill: 'interval', calendar: 'day', refillIntervalMs: undefined as never } as const;

describe('limits that cannot be', () => {
  test.each([
    [{ capacity: -5 }, 'capacity', 'must be a whole number from 0 to 1000000000, got -5; the nearest is 0'],
    [
      { capacity: 0, initialTokens: 5 },
      'initialTokens',
      'must be 0 where the capacity is 0, which lets nothing pass, got 5; the nearest is 0',
    ],
    [{ capacity: 1.5 }, 'capacity', 'got 1.5; the nearest is 2'],
    [{ capacity: 1e10 }, 'capacity', 'got 10000000000; the nearest is 1000000000'],
    [{ capacity: Number.NaN }, 'capacity', 'must be a whole number'],
    [{ capacity: '10' as never }, 'capacity', 'got "10"'],
    [{ refillTokens: 0 }, 'refillTokens', 'got 0'],
    [{ refillIntervalMs: 0 }, 'refillIntervalMs', 'from 1 to 31622400000'],
    [{ initialTokens: -1 }, 'initialTokens', 'from 0 to'],
    [{ refill: 'slow' as never }, 'refill', "'greedy' or 'interval'"],
    [{ name: '' }, 'name', '1 to 64'],
    [{ name: 'a"b' }, 'name', 'letters'],
    [{ refillTokens: 1001, refillIntervalMs: 1 }, 'refillTokens', 'at most 1000 for an interval of 1 ms'],
    [{ refillTokens: 999_999_937, refillIntervalMs: 1_000_000 }, 'refillTokens', 'nearest is 999999936'],
    [{ align: 'clock' }, 'align', 'goes with refill \'interval\' only, got "clock"'],
    [{ align: 'limit' }, 'align', "goes with refill 'interval' only"],
    [{ calendar: 'day' }, 'calendar', "goes with refill 'interval' only"],
    [{ timeZone: 'Europe/Berlin' }, 'timeZone', "goes with refill 'interval' only"],
    [{ refill: 'interval', align: 'wall' as never }, 'align', "must be 'limit' or 'clock', got \"wall\""],
    [
      { refill: 'interval', refillIntervalMs: undefined as never },
      'refillIntervalMs',
      'must be a whole number from 1 to 31622400000, got nothing',
    ],
    [{ refill: 'interval', timeZone: 'Europe/Berlin' }, 'timeZone', 'goes with a calendar only'],
    [{ refill: 'interval', calendar: 'day' }, 'refillIntervalMs', 'must not be given with a calendar, which says when steps are, got 1000'],
    [
      { ...byCalendar, calendar: 'decade' as never },
      'calendar',
      "must be one of 'minute', 'hour', 'day', 'week', 'month', 'year', got \"decade\"",
    ],
    [{ ...byCalendar, timeZone: '+01:00' }, 'timeZone', 'must be an IANA time zone'],
    [{ ...byCalendar, align: 'clock' }, 'align', 'must not be given with a calendar, which says when steps are'],
    [{ ...byCalendar, capacity: 301 }, 'capacity', 'must be filled within 60 steps of the calendar, got 301; the nearest is 300'],
    [
      { ...byCalendar, calendar: 'year', capacity: 51 },
      'capacity',
      'must be filled within 10 steps of the calendar, got 51; the nearest is 50',
    ],
    [{ ...byCalendar, capacity: 0, initialTokens: 5 }, 'initialTokens', 'must be 0 where the capacity is 0'],
    [
      { capacity: 1_000_000_000, refillTokens: 1, refillIntervalMs: 60_000 },
      'capacity',
      'within ten years at this rate, got 1000000000; the nearest is 5256000',
    ],
  ] as const)('%j', (numbers, field, text) => {
    const faults = limitFaults(spec(numbers));
    expect(faults).toMatchObject([{ field, detail: expect.stringContaining(text) }]);
    expect(() => startLimits([spec(numbers)], 0)).toThrow(InvalidLimitError);
  });

  test('all that is wrong is named', () => {
    expect(limitFaults(spec({ capacity: -1, refillTokens: -1 })).map(({ field }) => field)).toEqual(['capacity', 'refillTokens']);
  });

  test('what the error proposes is accepted', () => {
    const numbers = fc.oneof(
      fc.integer(),
      fc.double({ noNaN: true }),
      fc.integer({ min: -3, max: 3 }),
      fc.constantFrom(1e9, 1e10, 999_999_937),
    );
    const wrong = fc.record({ capacity: numbers, refillTokens: numbers, refillIntervalMs: numbers, initialTokens: numbers });
    fc.assert(
      fc.property(wrong, (fields) => {
        // One number after the other is replaced by what is proposed for it; that may bring to light what is wrong with all of them together.
        let mended = spec(fields);
        for (let i = 0; i < 8; i++) {
          const [fault] = limitFaults(mended);
          if (!fault) return;
          expect(fault.nearest).toEqual(expect.any(Number));
          mended = { ...mended, [fault.field]: fault.nearest };
        }
        expect(limitFaults(mended)).toEqual([]);
      }),
      runs(600),
    );
  });
});

test('the error proposes the nearest valid value', () => {
  const counter = (windowMs: number, parts: number): LimitSpec => ({ name: 'l', algorithm: 'sliding_counter', limit: 1, windowMs, parts });
  const windows = fc.tuple(
    fc.oneof(fc.integer({ min: 1, max: 5000 }), fc.integer({ min: 31_622_399_000, max: 31_622_400_000 })),
    fc.integer({ min: 1, max: 60 }),
  );
  fc.assert(
    fc.property(windows, ([windowMs, parts]) => {
      const nearest = limitFaults(counter(windowMs, parts))[0]?.nearest;
      if (nearest === undefined) return;
      expect(limitFaults(counter(nearest, parts))).toEqual([]);
      const away = Math.abs(nearest - windowMs);
      for (let i = 1; i < away; i++) {
        for (const between of [windowMs - i, windowMs + i]) expect(limitFaults(counter(between, parts))).not.toEqual([]);
      }
    }),
    runs(300),
  );
  for (let tokens = 999_999_937; tokens > 999_999_936; tokens--)
    expect(limitFaults(spec({ refillTokens: tokens, refillIntervalMs: 1_000_000 }))).not.toEqual([]);
  expect(limitFaults(spec({ refillTokens: 999_999_936, refillIntervalMs: 1_000_000 }))).toEqual([]);
});

test('the error of a calendar limit names the largest capacity that its steps can fill, excess included', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 5000 }),
      fc.integer({ min: 0, max: 100 }),
      fc.constantFrom(...CALENDAR_UNITS),
      (refillTokens, excessPercent, calendar) => {
        const of = (capacity: number): LimitSpec => ({
          name: 'l',
          algorithm: 'token_bucket',
          capacity,
          refillTokens,
          refill: 'interval',
          calendar,
          ...(excessPercent > 0 && { throttle: 'soft', excessPercent }),
        });
        const [fault] = limitFaults(of(1_000_000));
        const most = (calendar === 'year' ? 10 : 60) * refillTokens;
        expect(fault!.nearest! + Math.floor((fault!.nearest! * excessPercent) / 100)).toBeLessThanOrEqual(most);
        expect(limitFaults(of(fault!.nearest!))).toEqual([]);
        expect(limitFaults(of(fault!.nearest! + 1))).toMatchObject([{ field: 'capacity' }]);
      },
    ),
    runs(150),
  );
});

test('the error of a limit that takes more than ten years to fill names the largest capacity that does not', () => {
  let told = 0;
  const whole = (max: number) => fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max }));
  const intervals = fc.oneof(fc.integer({ min: 1, max: 31_622_400_000 }), fc.constantFrom(86_400_000, 31_536_000_000, 31_622_400_000));
  fc.assert(
    fc.property(whole(1e9), whole(1e9), intervals, fc.boolean(), (capacity, refillTokens, refillIntervalMs, ofInitialTokens) => {
      const of = (tokens: number): LimitSpec =>
        spec(
          ofInitialTokens
            ? { capacity: 1, refillTokens, refillIntervalMs, initialTokens: tokens }
            : { refillTokens, refillIntervalMs, capacity: tokens },
        );
      const field = ofInitialTokens ? 'initialTokens' : 'capacity';
      const [fault] = limitFaults(of(capacity));
      if (fault?.field !== field) return;
      told++;
      expect(limitFaults(of(fault.nearest!))).toEqual([]);
      expect(limitFaults(of(fault.nearest! + 1))).toMatchObject([{ field }]);
    }),
    runs(600),
  );
  expect(told).toBeGreaterThan(30);
});

describe('an edit', () => {
  const [a, b] = startLimits([spec({ name: 'a' }), spec({ name: 'b', capacity: 20 })], 1000);

  test('that changes no number keeps generation and history', () => {
    expect(editLimits([a!], [spec({ name: 'a' })], 2000)).toEqual([a]);
  });

  test.each([
    [{ refill: 'interval' }, { align: 'clock' }, 1],
    [{ refill: 'interval', align: 'clock' }, { align: 'limit' }, 1],
    [{ refill: 'interval' }, { align: 'limit' }, 0],
    [byCalendar, { calendar: 'week' }, 1],
    [byCalendar, { timeZone: 'Europe/Berlin' }, 1],
    [{ refill: 'interval' }, byCalendar, 1],
  ] as const)('of the steps %j to %j begins another generation: %d', (from, to, generation) => {
    const [edited] = editLimits(startLimits([spec(from)], 1000), [spec({ ...from, ...to })], 2000);
    expect(edited).toMatchObject({ generation });
  });

  test('keeps the identity of limits that were renamed or moved', () => {
    const edited = editLimits([a!, b!], [spec({ name: 'b', capacity: 20 }), spec({ name: 'new name' })], 2000);
    expect(edited.map(({ name, id, generation }) => ({ name, id, generation }))).toEqual([
      { name: 'b', id: 1, generation: 0 },
      { name: 'new name', id: 0, generation: 0 },
    ]);
  });

  test('keeps the identity of limits that were renamed and moved at once: they are known by their numbers', () => {
    const edited = editLimits([a!, b!], [spec({ name: 'wide', capacity: 20 }), spec({ name: 'narrow' }), spec({ name: 'new' })], 2000);
    expect(edited.map(({ name, id, generation }) => ({ name, id, generation }))).toEqual([
      { name: 'wide', id: 1, generation: 0 },
      { name: 'narrow', id: 0, generation: 0 },
      { name: 'new', id: 2000, generation: 0 },
    ]);
  });

  test('of the numbers starts a generation with the tokens that an untouched bucket held', () => {
    const [edited] = editLimits([a!], [spec({ name: 'a', capacity: 500 })], 5000);
    expect(edited).toMatchObject({
      id: 0,
      generation: 1,
      capacity: 500,
      since: { atMs: 5000, tokens: 10 },
      previous: [{ generation: 0, capacity: 10, refillTokens: 5, since: { atMs: 1000, tokens: 10 } }],
    });
  });

  test('an id never comes back', () => {
    const without = editLimits([a!, b!], [spec({ name: 'a' })], 5000);
    const again = editLimits(without, [spec({ name: 'a' }), spec({ name: 'b', capacity: 20 })], 6000);
    expect(again[1]!.id).toBe(6000);
  });

  test.each([
    ['year', '2028-01-01T12:00:00Z', '2028-12-31T23:59:59Z', [1, 0]],
    ['year', '2028-01-01T12:00:00Z', '2029-01-01T00:00:00Z', [1]],
    ['month', '2028-01-01T12:00:00Z', '2028-01-31T23:59:59Z', [1, 0]],
    ['month', '2028-01-01T12:00:00Z', '2028-02-01T00:00:00Z', [1]],
    ['day', '2028-01-01T12:00:00Z', '2028-01-02T00:00:00Z', [1]],
    // Gateways that missed the edit may write a little longer.
    ['minute', '2028-01-01T12:00:00Z', '2028-01-01T12:05:00Z', [1, 0]],
  ] as const)(
    'former numbers are remembered for as long as a window of the calendar lasts: %s, from %s to %s',
    (calendar, from, to, remembered) => {
      const numbers = (limit: number): LimitSpec => ({ name: 'a', algorithm: 'fixed_window', limit, calendar, start: 'clock' });
      const first = startLimits([numbers(1)], Date.parse(from));
      const second = editLimits(first, [numbers(2)], Date.parse(from));
      expect(editLimits(second, [numbers(3)], Date.parse(to))[0]!.previous.map(({ generation }) => generation)).toEqual(remembered);
    },
  );

  test('former numbers are forgotten when no bucket can carry them any more', () => {
    const [edited] = editLimits([a!], [spec({ name: 'a', capacity: 50 })], 2000);
    const [later] = editLimits([edited!], [spec({ name: 'a', capacity: 60 })], 2000 + 3_600_000);
    expect(later!.previous.map(({ generation }) => generation)).toEqual([1]);
  });

  test.each([
    ['2028-03-31T23:59:59.999Z', [1, 0]],
    ['2028-04-01T00:00:00.000Z', [1]],
  ])('former numbers are remembered until the steps of the calendar have filled their buckets: %s', (to, remembered) => {
    const steps = (capacity: number): TokenBucketSpec => ({
      name: 'a',
      algorithm: 'token_bucket',
      capacity,
      refillTokens: 10,
      refill: 'interval',
      calendar: 'month',
    });
    const second = editLimits(startLimits([steps(30)], 0), [steps(25)], Date.parse('2028-01-01T12:00:00Z'));
    expect(editLimits(second, [steps(20)], Date.parse(to))[0]!.previous.map(({ generation }) => generation)).toEqual(remembered);
  });

  test('many edits in a row are remembered up to a bound', () => {
    let limits = [a!];
    for (let i = 0; i < 150; i++) limits = editLimits(limits, [spec({ name: 'a', capacity: 100 + i })], 2000 + i);
    expect(limits[0]!.generation).toBe(150);
    expect(limits[0]!.previous).toHaveLength(100);
    expect(limits[0]!.previous[0]!.generation).toBe(149);
  });
});

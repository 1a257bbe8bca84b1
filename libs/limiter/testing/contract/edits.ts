import {
  editLimits,
  NewerRulesError,
  ON_EDITS,
  startLimits,
  type CalendarUnit,
  type Limit,
  type LimitSpec,
  type OnEdit,
  type TokenBucketSpec,
} from '../../src/index.js';
import { startedLimit } from '../arbitraries.js';
import { burst, takeFrom } from '../takes.js';
import type { CreateStore } from './store-under-test.js';

/** What becomes of live buckets when the numbers of their limit change. */
export function describeEdits(create: CreateStore): void {
  const limit = startedLimit(burst(), 0);

  describe('after an edit of the numbers (as_is)', () => {
    const rows: {
      title: string;
      from: Partial<TokenBucketSpec>;
      spent: number;
      to: Partial<TokenBucketSpec>;
      editAtMs: number;
      lookAtMs: number;
      remaining: number;
    }[] = [
      { title: 'a larger capacity gives no tokens', from: {}, spent: 10, to: { capacity: 1000 }, editAtMs: 1, lookAtMs: 1, remaining: 0 },
      { title: 'a full bucket keeps what it held', from: {}, spent: 0, to: { capacity: 1000 }, editAtMs: 1, lookAtMs: 1, remaining: 10 },
      { title: 'a smaller capacity cuts', from: {}, spent: 2, to: { capacity: 5 }, editAtMs: 1, lookAtMs: 1, remaining: 5 },
      {
        title: 'the old rate counts up to the edit, the new one from there',
        from: {},
        spent: 10,
        to: { refillTokens: 1 },
        editAtMs: 1000,
        lookAtMs: 3000,
        remaining: 7,
      },
      {
        title: 'a faster rate does not reach back',
        from: { refillTokens: 1, refillIntervalMs: 3_600_000 },
        spent: 10,
        to: { refillTokens: 1000 },
        editAtMs: 3_600_000,
        lookAtMs: 3_600_000,
        remaining: 1,
      },
      { title: 'greedy to interval', from: {}, spent: 10, to: { refill: 'interval' }, editAtMs: 500, lookAtMs: 1499, remaining: 2 },
      {
        title: 'interval to greedy',
        from: { refill: 'interval' },
        spent: 10,
        to: { refill: 'greedy' },
        editAtMs: 1500,
        lookAtMs: 1700,
        remaining: 6,
      },
      {
        title: 'steps from the start of the limit to steps of the clock',
        from: { refill: 'interval', refillIntervalMs: 700 },
        spent: 10,
        to: { align: 'clock' },
        editAtMs: 1500,
        lookAtMs: 2099,
        remaining: 10,
      },
      {
        title: 'steps of the clock to steps from the start of the limit',
        from: { refill: 'interval', align: 'clock' },
        spent: 10,
        to: { align: 'limit' },
        editAtMs: 1500,
        lookAtMs: 2499,
        remaining: 5,
      },
      { title: 'to a rate of fractions', from: {}, spent: 7, to: { refillTokens: 7 }, editAtMs: 0, lookAtMs: 1000, remaining: 10 },
      {
        title: 'a launch surplus does not survive',
        from: { initialTokens: 1000 },
        spent: 1,
        to: { capacity: 20 },
        editAtMs: 1,
        lookAtMs: 1,
        remaining: 20,
      },
    ];
    test.each(rows)('$title', async ({ from, spent, to, editAtMs, lookAtMs, remaining }) => {
      const { store, clock } = await create();
      const before = startLimits([burst(from)], 0);
      if (spent > 0) await takeFrom(store, [{ key: 'k', limit: before[0]!, cost: spent }]);
      const [after] = editLimits(before, [burst({ ...from, ...to })], editAtMs) as [Limit];
      clock.nowMs = lookAtMs;
      expect((await takeFrom(store, [{ key: 'k', limit: after, cost: 0 }]))[0]!.remaining).toBe(remaining);
    });

    const opened: Record<OnEdit, number> = { as_is: 0, proportional: 0, reset: 10, additive: 10 };
    test.each(ON_EDITS)('a limit for nobody that is raised (%s), touched before and after', async (onEdit) => {
      const { store, clock } = await create();
      const some = startLimits([burst()], 0);
      const none = editLimits(some, [burst({ capacity: 0, onEdit })], 0);
      const again = editLimits(none, [burst({ onEdit })], 1000);
      // One bucket is touched at each stage, the other one before and after only.
      await takeFrom(store, [
        { key: 'a', limit: some[0]! },
        { key: 'b', limit: some[0]! },
      ]);
      expect((await takeFrom(store, [{ key: 'a', limit: none[0]! }]))[0]).toMatchObject({
        allowed: false,
        limit: 0,
        remaining: 0,
        retryAfterMs: 'never',
      });
      clock.nowMs = 1000;
      for (const key of ['a', 'b', 'never touched']) {
        expect((await takeFrom(store, [{ key, limit: again[0]!, cost: 0 }]))[0]).toMatchObject({ remaining: opened[onEdit] });
      }
    });

    test('steps of a calendar, edited to others and back, each at its own time', async () => {
      const { store, clock } = await create();
      const at = (text: string): number => Date.parse(text);
      const steps = (calendar: CalendarUnit, more: Partial<TokenBucketSpec> = {}): TokenBucketSpec => ({
        name: 'steps',
        algorithm: 'token_bucket',
        capacity: 20,
        refillTokens: 2,
        refill: 'interval',
        calendar,
        timeZone: 'Europe/Berlin',
        ...more,
      });
      const days = startLimits([steps('day')], at('2026-03-27T12:00:00Z'));
      clock.nowMs = at('2026-03-27T12:00:00Z');
      for (const key of ['a', 'b']) await takeFrom(store, [{ key, limit: days[0]!, cost: 20 }]);
      // Midnights of the 28th, 29th (23 hours) and 30th are past: six tokens. Then a full hour at 22:00 UTC, and one at 23:00.
      const hours = editLimits(days, [steps('hour', { refillTokens: 1 })], at('2026-03-29T22:00:00Z'));
      clock.nowMs = at('2026-03-30T00:59:59.999Z');
      expect((await takeFrom(store, [{ key: 'a', limit: hours[0]!, cost: 0 }]))[0]).toMatchObject({ remaining: 8, nextStepMs: 1 });
      const again = editLimits(hours, [steps('day')], clock.nowMs);
      clock.nowMs = at('2026-03-30T22:00:00Z');
      for (const key of ['a', 'b']) {
        expect((await takeFrom(store, [{ key, limit: again[0]!, cost: 1 }]))[0]).toMatchObject({ remaining: 9, nextStepMs: 86_400_000 });
      }
    });

    test('edits that nobody saw in between are applied one after the other', async () => {
      const { store, clock } = await create();
      const first = startLimits([burst()], 0);
      await takeFrom(store, [{ key: 'k', limit: first[0]!, cost: 10 }]);
      const second = editLimits(first, [burst({ capacity: 3 })], 1000);
      const third = editLimits(second, [burst({ capacity: 500 })], 1000);
      clock.nowMs = 1200;
      expect((await takeFrom(store, [{ key: 'k', limit: third[0]!, cost: 0 }]))[0]!.remaining).toBe(4);
    });

    test('whoever still has the old numbers is told, and takes nothing', async () => {
      const { store, clock } = await create();
      const old = startLimits([burst()], 0);
      const [edited] = editLimits(old, [burst({ capacity: 20 })], 0) as [Limit];
      await takeFrom(store, [{ key: 'k', limit: edited }]);
      await expect(takeFrom(store, [{ key: 'k', limit: old[0]! }])).rejects.toBeInstanceOf(NewerRulesError);
      await expect(
        takeFrom(store, [
          { key: 'other', limit },
          { key: 'k', limit: old[0]! },
        ]),
      ).rejects.toBeInstanceOf(NewerRulesError);
      clock.advance(0);
      expect((await takeFrom(store, [{ key: 'k', limit: edited, cost: 0 }]))[0]!.remaining).toBe(9);
      expect((await takeFrom(store, [{ key: 'other', limit, cost: 0 }]))[0]!.remaining).toBe(10);
    });

    const slow = (capacity: number): TokenBucketSpec => burst({ capacity, refillTokens: 1, refillIntervalMs: 20_000 });

    test('an idle merchant is not refused after an edit, however long ago its bucket was written', async () => {
      const { store, clock } = await create();
      const before = startLimits([slow(5)], 0);
      await takeFrom(store, [{ key: 'k', limit: before[0]!, cost: 5 }]);
      const [after] = editLimits(before, [slow(6)], 60_000) as [Limit];
      clock.nowMs = 60_000 + 12.6 * 60_000;
      expect((await takeFrom(store, [{ key: 'k', limit: after }]))[0]).toMatchObject({ allowed: true, remaining: 5 });
    });

    test('a quota that was used up before an edit is there again forty days later', async () => {
      const { store, clock } = await create();
      const daily = (limit: number): LimitSpec => ({ name: 'a day', algorithm: 'fixed_window', limit, calendar: 'day', start: 'clock' });
      const before = startLimits([daily(3)], 0);
      await takeFrom(store, [{ key: 'k', limit: before[0]!, cost: 3 }]);
      const edited = editLimits(before, [daily(4)], 1000);
      clock.nowMs = 2000;
      expect((await takeFrom(store, [{ key: 'k', limit: edited[0]! }]))[0]).toMatchObject({ allowed: false, remaining: 0 });
      const again = editLimits(editLimits(edited, [daily(5)], 40 * 86_400_000), [daily(6)], 41 * 86_400_000);
      clock.nowMs = 42 * 86_400_000;
      expect((await takeFrom(store, [{ key: 'k', limit: again[0]! }]))[0]).toMatchObject({ allowed: true, remaining: 5 });
    });

    test('a bucket older than all numbers that are remembered was empty when the oldest of them came into force, and has refilled since', async () => {
      const { store, clock } = await create();
      const first = startLimits([slow(5)], 0);
      await takeFrom(store, [{ key: 'k', limit: first[0]!, cost: 1 }]);
      let limits = first;
      for (let i = 1; i <= 150; i++) limits = editLimits(limits, [slow(5 + i)], i);
      clock.nowMs = 60_000;
      expect((await takeFrom(store, [{ key: 'k', limit: limits[0]!, cost: 0 }]))[0]).toMatchObject({ remaining: 2 });
    });

    test('fractions of a token are carried over an edit, of a bucket that was touched and of one that was not', async () => {
      const { store, clock } = await create();
      const hourly: LimitSpec = {
        name: 'burst',
        algorithm: 'token_bucket',
        capacity: 100,
        refillTokens: 7,
        refillIntervalMs: 3_600_000,
        refill: 'greedy',
      };
      const before = startLimits([hourly], 0);
      await takeFrom(store, [{ key: 'k', limit: before[0]!, cost: 37 }]);
      const [window] = editLimits(
        before,
        [{ name: 'burst', algorithm: 'fixed_window', limit: 100, windowMs: 86_400_000, start: 'clock' }],
        0,
      ) as [Limit];
      expect((await takeFrom(store, [{ key: 'k', limit: window, cost: 0 }]))[0]).toMatchObject({ remaining: 63 });
      // Two and a half tokens of five were there, then two and a half of six.
      const slowly = startLimits([{ ...slow(5), initialTokens: 0 }], 0);
      const [edited] = editLimits(slowly, [slow(6)], 50_000) as [Limit];
      await takeFrom(store, [{ key: 'touched', limit: slowly[0]! }]);
      for (const key of ['touched', 'untouched']) {
        clock.nowMs = 59_999;
        expect((await takeFrom(store, [{ key, limit: edited, cost: 0 }]))[0]!.remaining).toBe(2);
        clock.nowMs = 60_000;
        expect((await takeFrom(store, [{ key, limit: edited, cost: 0 }]))[0]!.remaining).toBe(3);
      }
    });

    test('an edit to whole steps leaves nothing negative', async () => {
      const { store } = await create();
      const before = startLimits([burst({ capacity: 1, refillTokens: 7, refillIntervalMs: 1000 })], 0);
      await takeFrom(store, [{ key: 'k', limit: before[0]! }]);
      const [edited] = editLimits(before, [burst({ capacity: 1, refillTokens: 7, refillIntervalMs: 1000, refill: 'interval' })], 0) as [
        Limit,
      ];
      expect((await takeFrom(store, [{ key: 'k', limit: edited, cost: 0 }]))[0]).toMatchObject({ remaining: 0 });
    });
  });
}

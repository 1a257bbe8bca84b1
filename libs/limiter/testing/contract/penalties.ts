import type { BucketStore, BucketTake, Penalty, PenaltyTake } from '../../src/index.js';
import { startedLimit } from '../arbitraries.js';
import { bucketTake, burst, isAllowed, penaltyTake, taken, takeFrom } from '../takes.js';
import type { CreateStore } from './store-under-test.js';

/** How a store counts refusals and blocks. */
export function describePenalties(create: CreateStore): void {
  const small = startedLimit(burst({ name: 'small', capacity: 2, refillTokens: 1 }), 0);

  describe('a penalty', () => {
    const penalty: Penalty = { refusals: 3, windowMs: 10_000, blockMs: 60_000 };
    const one = startedLimit(burst({ capacity: 1, refillTokens: 1, refillIntervalMs: 1000 }), 0);
    const asked = (cost = 1, numbers = penalty): BucketTake[] => [bucketTake('k', one, cost), penaltyTake('p', numbers, 1, cost)];
    const passes = async (store: BucketStore, takes = asked()): Promise<boolean> => isAllowed(await taken(store, takes));
    const outcomes = async (store: BucketStore, count: number): Promise<boolean[]> => {
      const seen: boolean[] = [];
      for (let i = 0; i < count; i++) seen.push(await passes(store));
      return seen;
    };

    test('blocks after so many refusals in a window, and for its time', async () => {
      const { store, clock } = await create();
      expect(await outcomes(store, 4)).toEqual([true, false, false, false]);
      for (const atMs of [1, 1000, 30_000, 59_999]) {
        clock.nowMs = atMs;
        expect(await passes(store)).toBe(false);
      }
      clock.nowMs = 60_000;
      expect(await outcomes(store, 4)).toEqual([true, false, false, false]);
    });

    test('forgets refusals that are older than its window', async () => {
      const { store, clock } = await create();
      expect(await outcomes(store, 3)).toEqual([true, false, false]);
      clock.nowMs = 10_000;
      expect(await outcomes(store, 3)).toEqual([true, false, false]);
      clock.nowMs = 11_000;
      expect(await passes(store)).toBe(true);
    });

    test('a block takes nothing from the limits, and looking provokes none', async () => {
      const { store, clock } = await create();
      await outcomes(store, 3);
      for (let i = 0; i < 10; i++) await taken(store, asked(0));
      clock.nowMs = 1000;
      expect(await outcomes(store, 2)).toEqual([true, false]);
      clock.nowMs = 3000;
      expect((await takeFrom(store, [{ key: 'k', limit: one, cost: 0 }]))[0]).toMatchObject({ remaining: 1 });
      expect(await passes(store)).toBe(false);
      expect((await takeFrom(store, [{ key: 'k', limit: one, cost: 0 }]))[0]).toMatchObject({ remaining: 1 });
    });

    test('counts only what the limits of its own rule refuse', async () => {
      const { store } = await create();
      await takeFrom(store, [{ key: 'small', limit: small, cost: 2 }]);
      for (let i = 0; i < 10; i++) await taken(store, [bucketTake('small', small), bucketTake('k', one), penaltyTake('p', penalty, 1)]);
      for (let i = 0; i < 10; i++) await taken(store, [bucketTake('k', one), penaltyTake('p', penalty, 1), bucketTake('small', small)]);
      expect(await passes(store)).toBe(true);
    });

    test('an edit counts from then on: a shorter block ends sooner', async () => {
      const { store, clock } = await create();
      await outcomes(store, 4);
      clock.nowMs = 5000;
      expect(await passes(store, asked(1, { ...penalty, blockMs: 4000 }))).toBe(false);
      clock.nowMs = 8999;
      expect(await passes(store, asked(1, { ...penalty, blockMs: 4000 }))).toBe(false);
      clock.nowMs = 9000;
      expect(await passes(store, asked(1, { ...penalty, blockMs: 4000 }))).toBe(true);
    });

    describe('that is told of refusals later', () => {
      const tell = (store: BucketStore, count: number, sinceMs: number) => {
        const take: PenaltyTake = { ...penaltyTake('p', penalty, 1), untold: { count, sinceUs: sinceMs * 1000 } };
        return taken(store, [take]);
      };

      test('counts them, and blocks with the last of them', async () => {
        const { store, clock } = await create();
        clock.nowMs = 100_000;
        await tell(store, 2, 0);
        expect(await outcomes(store, 2)).toEqual([true, false]);
        clock.nowMs = 159_999;
        expect(await passes(store)).toBe(false);
        clock.nowMs = 160_000;
        await tell(store, 3, 0);
        clock.nowMs = 219_999;
        expect(await passes(store)).toBe(false);
        clock.nowMs = 220_000;
        expect(await passes(store)).toBe(true);
      });

      test('begins the window with the first of them', async () => {
        const { store, clock } = await create();
        clock.nowMs = 100_000;
        await tell(store, 2, 4_000);
        clock.nowMs = 106_000;
        expect(await outcomes(store, 3)).toEqual([true, false, false]);
        // Only two are in the window that runs: it began at 106.
        expect((await taken(store, asked(0))).levels[1]).toMatchObject({ refusals: 2 });
      });

      test('adds them to the window that runs', async () => {
        const { store, clock } = await create();
        clock.nowMs = 100_000;
        expect(await outcomes(store, 2)).toEqual([true, false]);
        clock.nowMs = 100_500;
        await tell(store, 1, 500);
        expect((await taken(store, asked(0))).levels[1]).toMatchObject({ blockedUs: 0, refusals: 2 });
        await tell(store, 1, 100);
        expect((await taken(store, asked(0))).levels[1]).toMatchObject({ blockedUs: 60_000_000 });
      });

      test('counts none where some belong to another window, or to a block: it never blocks too soon', async () => {
        const { store, clock } = await create();
        clock.nowMs = 100_000;
        expect(await outcomes(store, 2)).toEqual([true, false]);
        const refusals = async (): Promise<number> => ((await taken(store, asked(0))).levels[1] as { refusals: number }).refusals;
        await tell(store, 2, 1);
        expect(await refusals()).toBe(1);
        clock.nowMs = 110_500;
        await tell(store, 2, 1_000);
        await tell(store, 2, 10_000);
        expect(await refusals()).toBe(0);
        await tell(store, 3, 500);
        clock.nowMs = 170_600;
        await tell(store, 2, 200);
        expect(await refusals()).toBe(0);
        await tell(store, 2, 100);
        expect(await refusals()).toBe(2);
      });

      test('takes nothing, and counts nothing in a block', async () => {
        const { store, clock } = await create();
        await outcomes(store, 4);
        clock.nowMs = 30_000;
        await tell(store, 3, 0);
        clock.nowMs = 60_000;
        expect(await passes(store)).toBe(true);
      });
    });

    test('after a step back of the clock a block lasts its time from then on, and refusals count as now', async () => {
      const { store, clock } = await create();
      clock.nowMs = 3_600_000;
      await outcomes(store, 4);
      clock.nowMs = 20_000;
      expect(await passes(store)).toBe(false);
      clock.nowMs = 79_999;
      expect(await passes(store)).toBe(false);
      clock.nowMs = 80_000;
      expect(await outcomes(store, 2)).toEqual([true, false]);
      clock.nowMs = 10_000;
      expect(await passes(store)).toBe(false);
      clock.nowMs = 20_000;
      expect(await outcomes(store, 3)).toEqual([true, false, false]);
    });
  });
}

import * as fc from 'fast-check';
import { LookingStore, type BucketLooker, type BucketOperator, type BucketStore } from '../../src/index.js';
import { anyLimitSpecs, arrivals, startedLimit } from '../arbitraries.js';
import type { FakeClock } from '../fake-clock.js';
import { runs } from '../properties/runs.js';
import { bucketTake, isAllowed, penaltyTake, taken } from '../takes.js';

type LookedAtStore = BucketStore & BucketOperator & BucketLooker;

/** What a store must promise that can be looked at: a look finds what a take finds, and changes nothing. */
export function describeLooks(
  create: () => Promise<{ store: LookedAtStore; clock: FakeClock }> | { store: LookedAtStore; clock: FakeClock },
): void {
  describe('a look', () => {
    test('finds what the take after it finds, for any algorithm, cost and time, and takes nothing itself', async () => {
      const { store, clock } = await create();
      let run = 0;
      let refused = 0;
      let allowed = 0;
      await fc.assert(
        fc.asyncProperty(
          anyLimitSpecs().chain((spec) => fc.tuple(fc.constant(spec), arrivals(spec, { maxLength: 12 }), fc.constantFrom(0, 0, 30))),
          async ([spec, events, percent]) => {
            const key = `look.${++run}`;
            clock.nowMs = START_MS;
            const limit = startedLimit(spec, START_MS);
            let nowUs = START_MS * 1000;
            for (const { gapUs, cost } of events) {
              nowUs += gapUs;
              clock.nowMs = nowUs / 1000;
              const take = bucketTake(key, limit, cost, percent);
              const looks = [await store.look(take), await store.look(take)];
              const seen = await taken(new LookingStore(store), [take], run);
              const answered = await taken(store, [take], run);
              expect([...looks, ...seen.levels]).toEqual(Array(3).fill(answered.levels[0]));
              expect(isAllowed(seen)).toBe(isAllowed(answered));
              if (isAllowed(answered)) allowed++;
              else refused++;
            }
          },
        ),
        runs(100),
      );
      expect(allowed).toBeGreaterThan(50);
      expect(refused).toBeGreaterThan(20);
    });

    test('sees a block of an operator and one of a penalty, and provokes none', async () => {
      const { store, clock } = await create();
      clock.nowMs = START_MS;
      const limit = startedLimit({ name: 'one', algorithm: 'fixed_window', limit: 1, windowMs: 60_000, start: 'clock' }, START_MS);
      const takes = [bucketTake('blocks', limit), penaltyTake('blocks.penalty', { refusals: 2, windowMs: 60_000, blockMs: 60_000 }, 1)];
      const look = () => taken(new LookingStore(store), takes);
      expect(isAllowed(await taken(store, takes))).toBe(true);
      for (let i = 0; i < 5; i++) expect(isAllowed(await look())).toBe(false);
      const before = await look();
      await taken(store, takes);
      await taken(store, takes);
      expect((await look()).levels[1]).not.toEqual(before.levels[1]);
      await store.operate('other', takes[0]!.bucket, { kind: 'block', forMs: 5_000 });
      expect(await store.look({ ...takes[0]!, key: 'other' })).toEqual({ blockedForUs: 5_000_000 });
    });
  });
}

const START_MS = 1_700_000_000_000;

import * as fc from 'fast-check';
import { editLimits, startLimits, type BucketStore, type BucketTake, type Decision, type Limit } from '../../src/index.js';
import { anyLimitSpecs, arrivals, startedLimit } from '../arbitraries.js';
import { bucketTake, burst, decisions, isAllowed, taken, takeFrom } from '../takes.js';
import { describeBlocks } from './blocks.js';
import { describeEdits } from './edits.js';
import { describeElasticLimits } from './elastic-limits.js';
import { describeOperations } from './operations.js';
import { describeOverriddenBuckets } from './overrides.js';
import { describePenalties } from './penalties.js';
import { describeRefunds } from './refunds.js';
import { describeReserves } from './reserves.js';
import type { CreateStore } from './store-under-test.js';

/** What every bucket store must do. `create` gives an empty store on a clock that stands at 0. */
export function describeBucketStore(name: string, create: CreateStore): void {
  describe(`${name} keeps the contract of a bucket store`, () => {
    const [limit] = startLimits([burst()], 0) as [Limit];
    const small = startLimits([burst({ name: 'small', capacity: 2, refillTokens: 1 })], 0)[0]!;

    test('a missing bucket is full, and buckets are told apart by key', async () => {
      const { store } = await create();
      expect((await takeFrom(store, [{ key: 'a', limit, cost: 10 }]))[0]).toMatchObject({ allowed: true, remaining: 0 });
      expect((await takeFrom(store, [{ key: 'b', limit }]))[0]).toMatchObject({ allowed: true, remaining: 9 });
    });

    test('all or nothing: a refusal by one limit takes nothing from the others', async () => {
      const { store } = await create();
      await takeFrom(store, [{ key: 'small', limit: small, cost: 2 }]);
      const [big, little] = await takeFrom(store, [
        { key: 'big', limit },
        { key: 'small', limit: small },
      ]);
      expect(big).toMatchObject({ allowed: true, remaining: 10 });
      expect(little).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 1000 });
      expect((await takeFrom(store, [{ key: 'big', limit, cost: 0 }]))[0]).toMatchObject({ remaining: 10 });
    });

    test('W6: two limits in one rule, 2 a second and 5 a minute: a refusal by one takes nothing from the other', async () => {
      const { store, clock } = await create();
      const [second, minute] = startLimits(
        [
          { name: 'second', algorithm: 'fixed_window', limit: 2, windowMs: 1000, start: 'clock' },
          { name: 'minute', algorithm: 'fixed_window', limit: 5, windowMs: 60_000, start: 'clock' },
        ],
        0,
      ) as [Limit, Limit];
      const seen: [boolean, number, number][] = [];
      for (const atMs of [0, 0, 0, 1000, 1000, 1000, 2000, 2000, 59_999, 60_000]) {
        clock.nowMs = atMs;
        const [a, b] = (await takeFrom(store, [
          { key: 'second', limit: second },
          { key: 'minute', limit: minute },
        ])) as [Decision, Decision];
        seen.push([a.allowed && b.allowed, a.remaining, b.remaining]);
      }
      expect(seen).toEqual([
        [true, 1, 4],
        [true, 0, 3],
        [false, 0, 3],
        [true, 1, 2],
        [true, 0, 1],
        [false, 0, 1],
        [true, 1, 0],
        [false, 1, 0],
        [false, 2, 0],
        [true, 1, 4],
      ]);
    });

    test('all or nothing, over random mixes of algorithms', async () => {
      const { store, clock } = await create();
      let run = 0;
      let refusals = 0;
      const mixes = fc
        .array(anyLimitSpecs(), { minLength: 2, maxLength: 5 })
        .chain((specs) => fc.tuple(fc.constant(specs), arrivals(specs[0]!, { maxLength: 20 })));
      await fc.assert(
        fc.asyncProperty(mixes, async ([specs, requests]) => {
          run++;
          clock.nowMs = 1_700_000_000_000;
          const limits = specs.map((each) => startedLimit(each, clock.nowMs));
          const takes = (cost: number): BucketTake[] => limits.map((each, i) => bucketTake(`${run}.${i}`, each, cost));
          for (const [i, { gapUs, cost }] of requests.entries()) {
            clock.nowMs += gapUs / 1000;
            const before = await taken(store, takes(0));
            const passed = isAllowed(await taken(store, takes(cost), i + 1));
            const after = await taken(store, takes(0));
            if (!passed) {
              refusals++;
              expect(after.levels).toEqual(before.levels);
            } else if (cost > 0) {
              limits.forEach((_limit, k) => expect(after.levels[k]).not.toEqual(before.levels[k]));
            }
          }
        }),
        { numRuns: 100 },
      );
      expect(refusals).toBeGreaterThan(50);
    });

    test('concurrent takes of the last token: exactly one passes', async () => {
      const { store } = await create();
      await takeFrom(store, [{ key: 'k', limit, cost: 9 }]);
      const answers = await Promise.all(Array.from({ length: 1000 }, () => takeFrom(store, [{ key: 'k', limit }])));
      expect(answers.filter(([decision]) => decision!.allowed)).toHaveLength(1);
    });

    test('takes of one call are answered as if they came one after the other', async () => {
      const { store } = await create();
      const answers = await Promise.all(Array.from({ length: 12 }, () => takeFrom(store, [{ key: 'k', limit }])));
      expect(answers.map(([decision]) => decision!.remaining)).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0, 0]);
    });

    test('cost 0 looks and changes nothing', async () => {
      const { store } = await create();
      expect((await takeFrom(store, [{ key: 'k', limit, cost: 0 }]))[0]).toMatchObject({ allowed: true, remaining: 10 });
      expect((await takeFrom(store, [{ key: 'k', limit, cost: 10 }]))[0]).toMatchObject({ allowed: true });
      expect((await takeFrom(store, [{ key: 'k', limit, cost: 0 }]))[0]).toMatchObject({ allowed: true, remaining: 0 });
    });

    describe('slots', () => {
      const three = startLimits([{ name: 'at once', algorithm: 'concurrency', limit: 3, slotTimeoutMs: 10_000 }], 0)[0]!;
      const ask = async (store: BucketStore, holder: number, cost = 1): Promise<Decision> => {
        const answered = await taken(store, [bucketTake('k', three, cost)], holder);
        return decisions(answered, answered.levels)[0]!;
      };
      const release = (store: BucketStore, holder: number): void => store.release({ takes: [bucketTake('k', three)], holder });

      test('are held until they are released, once', async () => {
        const { store } = await create();
        for (const slot of [1, 2, 3]) expect(await ask(store, slot)).toMatchObject({ allowed: true, remaining: 3 - slot });
        expect(await ask(store, 4)).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 10_000 });
        release(store, 2);
        release(store, 2);
        release(store, 99);
        // Nobody waits for a release to arrive.
        for (let i = 0; i < 1000 && (await ask(store, 0, 0)).remaining === 0; i++);
        expect(await ask(store, 5)).toMatchObject({ allowed: true, remaining: 0 });
        expect(await ask(store, 6)).toMatchObject({ allowed: false });
      });

      test('time out where nobody releases them', async () => {
        const { store, clock } = await create();
        await ask(store, 1, 2);
        clock.advance(5_000);
        await ask(store, 2, 1);
        clock.advance(4_999);
        expect(await ask(store, 3, 1)).toMatchObject({ allowed: false, retryAfterMs: 1 });
        expect(await ask(store, 3, 3)).toMatchObject({ allowed: false, retryAfterMs: 5_001 });
        clock.advance(1);
        expect(await ask(store, 3, 2)).toMatchObject({ allowed: true, remaining: 0 });
      });

      test('a request that is refused by another limit holds none', async () => {
        const { store } = await create();
        await takeFrom(store, [{ key: 'small', limit: small, cost: 2 }]);
        await taken(store, [bucketTake('k', three), bucketTake('small', small)], 1);
        expect((await ask(store, 2, 0)).remaining).toBe(3);
      });

      test('live on over an edit of their number', async () => {
        const { store } = await create();
        await ask(store, 1, 2);
        const [edited] = editLimits([three], [{ name: 'at once', algorithm: 'concurrency', limit: 5, slotTimeoutMs: 10_000 }], 0) as [
          Limit,
        ];
        expect((await takeFrom(store, [{ key: 'k', limit: edited, cost: 0 }]))[0]!.remaining).toBe(3);
        store.release({ takes: [bucketTake('k', edited)], holder: 1 });
        for (let i = 0; i < 1000 && (await takeFrom(store, [{ key: 'k', limit: edited, cost: 0 }]))[0]!.remaining === 3; i++);
        expect((await takeFrom(store, [{ key: 'k', limit: edited, cost: 0 }]))[0]!.remaining).toBe(5);
      });
    });

    describeRefunds(create);
    describePenalties(create);
    describeElasticLimits(create);
    describeReserves(create);
    describeEdits(create);
    describeOverriddenBuckets(create);
    describeOperations(create);
    describeBlocks(create);
  });
}
export { describeLender } from './leases.js';
export { describeLooks } from './looks.js';

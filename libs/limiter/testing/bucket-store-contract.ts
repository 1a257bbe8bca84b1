import * as fc from 'fast-check';
import { allPass, bucketOf, bucketOfPenalty, decide, editLimits, NewerRulesError, startLimits } from '../src/index.js';
import type { BucketStore, BucketTake, Decision, Limit, LimitSpec, Penalty, Receipt, TokenBucketSpec } from '../src/index.js';
import { anyLimitSpecs, arrivals, startedLimit } from './arbitraries.js';
import { FakeClock } from './fake-clock.js';

export interface StoreUnderTest {
  store: BucketStore;
  clock: FakeClock;
}

const spec = (numbers: Partial<TokenBucketSpec> = {}): TokenBucketSpec => ({
  name: 'burst', algorithm: 'token_bucket', capacity: 10, refillTokens: 5, refillIntervalMs: 1000, refill: 'greedy', ...numbers,
});

export const bucketTake = (key: string, limit: Limit, cost = 1): BucketTake => ({ key, bucket: bucketOf(limit), cost, memo: undefined });

/** @param watches how many limits stand before it in the request */
export const penaltyTake = (key: string, penalty: Penalty, watches: number, cost = 1): BucketTake => ({ key, bucket: bucketOfPenalty(penalty, watches), cost, memo: undefined });

/** The store's answer as a promise, with what it takes to give it back; rejects with the store's error. */
export function taken(store: BucketStore, takes: readonly BucketTake[], slot = 0, spare = false): Promise<Receipt> {
  return new Promise((resolve, reject) =>
    store.take(takes, (outcome, takenAtUs) => (outcome instanceof Error ? reject(outcome) : resolve({ takes, levels: outcome, takenAtUs, slot })), slot, spare));
}

export const isAllowed = ({ takes, levels }: Receipt, spare = false): boolean => allPass(takes, levels, spare);

/** Takes from one or more buckets and says what each decided. */
export async function takeFrom(store: BucketStore, asked: readonly { key: string; limit: Limit; cost?: number }[], spare = false): Promise<Decision[]> {
  const takes = asked.map(({ key, limit, cost = 1 }) => bucketTake(key, limit, cost));
  const receipt = await taken(store, takes, 0, spare);
  return takes.map((take, i) => decide(take.bucket, receipt.levels[i]!, take.cost, isAllowed(receipt, spare), spare));
}

/** What every bucket store must do. `create` gives an empty store on a clock that stands at 0. */
export function describeBucketStore(name: string, create: () => Promise<StoreUnderTest> | StoreUnderTest): void {
  describe(`${name} keeps the contract of a bucket store`, () => {
    const [limit] = startLimits([spec()], 0) as [Limit];
    const small = startLimits([spec({ name: 'small', capacity: 2, refillTokens: 1 })], 0)[0]!;

    test('a missing bucket is full, and buckets are told apart by key', async () => {
      const { store } = await create();
      expect((await takeFrom(store, [{ key: 'a', limit, cost: 10 }]))[0]).toMatchObject({ allowed: true, remaining: 0 });
      expect((await takeFrom(store, [{ key: 'b', limit }]))[0]).toMatchObject({ allowed: true, remaining: 9 });
    });

    test('all or nothing: a refusal by one limit takes nothing from the others', async () => {
      const { store } = await create();
      await takeFrom(store, [{ key: 'small', limit: small, cost: 2 }]);
      const [big, little] = await takeFrom(store, [{ key: 'big', limit }, { key: 'small', limit: small }]);
      expect(big).toMatchObject({ allowed: true, remaining: 10 });
      expect(little).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 1000 });
      expect((await takeFrom(store, [{ key: 'big', limit, cost: 0 }]))[0]).toMatchObject({ remaining: 10 });
    });

    test('all or nothing, over random mixes of algorithms', async () => {
      const { store, clock } = await create();
      let run = 0;
      let refusals = 0;
      const mixes = fc.array(anyLimitSpecs(), { minLength: 2, maxLength: 5 }).chain((specs) => fc.tuple(fc.constant(specs), arrivals(specs[0]!, { maxLength: 20 })));
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
      const ask = async (store: BucketStore, slot: number, cost = 1): Promise<Decision> => {
        const take = bucketTake('k', three, cost);
        const [level] = (await taken(store, [take], slot)).levels;
        return decide(take.bucket, level!, cost, allPass([take], [level!], false));
      };
      const release = (store: BucketStore, slot: number): void => store.release([bucketTake('k', three)], slot);

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
        const [edited] = editLimits([three], [{ name: 'at once', algorithm: 'concurrency', limit: 5, slotTimeoutMs: 10_000 }], 0) as [Limit];
        expect((await takeFrom(store, [{ key: 'k', limit: edited, cost: 0 }]))[0]!.remaining).toBe(3);
        store.release([bucketTake('k', edited)], 1);
        for (let i = 0; i < 1000 && (await takeFrom(store, [{ key: 'k', limit: edited, cost: 0 }]))[0]!.remaining === 3; i++);
        expect((await takeFrom(store, [{ key: 'k', limit: edited, cost: 0 }]))[0]!.remaining).toBe(5);
      });
    });

    describe('a refund', () => {
      const minute = 60_000;
      const specs: LimitSpec[] = [
        { name: 'l', algorithm: 'token_bucket', capacity: 10, refillTokens: 7, refillIntervalMs: minute, refill: 'greedy' },
        { name: 'l', algorithm: 'token_bucket', capacity: 10, refillTokens: 10, refillIntervalMs: minute, refill: 'interval' },
        { name: 'l', algorithm: 'gcra', capacity: 10, refillTokens: 10, refillIntervalMs: minute },
        { name: 'l', algorithm: 'leaky_bucket', capacity: 10, drainTokens: 10, drainIntervalMs: minute },
        { name: 'l', algorithm: 'fixed_window', limit: 10, windowMs: minute, start: 'clock' },
        { name: 'l', algorithm: 'fixed_window', limit: 10, windowMs: minute, start: 'first_request' },
        { name: 'l', algorithm: 'fixed_window', limit: 10, calendar: 'day', timeZone: 'Asia/Kolkata', start: 'clock' },
        { name: 'l', algorithm: 'sliding_log', limit: 10, windowMs: minute },
        { name: 'l', algorithm: 'sliding_counter', limit: 10, windowMs: minute, parts: 4 },
        { name: 'l', algorithm: 'concurrency', limit: 10, slotTimeoutMs: minute },
      ];
      const remaining = async (store: BucketStore, limit: Limit): Promise<number> => (await takeFrom(store, [{ key: 'k', limit, cost: 0 }]))[0]!.remaining;
      /** Nobody waits for a refund to arrive, but the store hears in order. */
      const after = async (store: BucketStore, receipt: Receipt, limit: Limit): Promise<number> => {
        store.refund(receipt);
        await new Promise((resolve) => setImmediate(resolve));
        return remaining(store, limit);
      };

      test.each(specs.map((each) => [JSON.stringify(each), each] as const))('gives back what was taken, whoever came in between, and no more: %s', async (_title, each) => {
        const { store, clock } = await create();
        clock.nowMs = 90_000_000_000;
        const only = startedLimit(each, 0);
        const opener = await taken(store, [bucketTake('k', only, 1)], 1);
        clock.advance(1);
        const receipt = await taken(store, [bucketTake('k', only, 4)], 2);
        await taken(store, [bucketTake('k', only, 3)], 3);
        expect(await remaining(store, only)).toBe(2);
        expect(await after(store, receipt, only)).toBe(6);
        clock.advance(200_000_000);
        // By now everything has come back by itself.
        await taken(store, [bucketTake('k', only, 10)], 4);
        expect(await after(store, opener, only)).toBe(0);
      });

      test('of a request with several limits gives back to all of them', async () => {
        const { store } = await create();
        const receipt = await taken(store, [bucketTake('k', limit, 2), bucketTake('small', small, 2)]);
        expect(await after(store, receipt, limit)).toBe(10);
        expect((await takeFrom(store, [{ key: 'small', limit: small, cost: 0 }]))[0]!.remaining).toBe(2);
      });

      test('gives nothing back that an edit has carried over', async () => {
        const { store } = await create();
        const receipt = await taken(store, [bucketTake('k', limit, 5)]);
        const [edited] = editLimits([limit], [spec({ capacity: 20 })], 0) as [Limit];
        await takeFrom(store, [{ key: 'k', limit: edited, cost: 1 }]);
        expect(await after(store, receipt, edited)).toBe(4);
      });

      test('in a queue: the last one hands its place on, others do not, for theirs stands behind it', async () => {
        const { store } = await create();
        const queue = startedLimit({ name: 'q', algorithm: 'leaky_bucket', capacity: 10, drainTokens: 1, drainIntervalMs: 1000, onLimit: { delay: { maxWaitMs: 10_000 } } }, 0);
        const [, second, third] = [await taken(store, [bucketTake('k', queue)]), await taken(store, [bucketTake('k', queue)]), await taken(store, [bucketTake('k', queue)])];
        expect(await after(store, second!, queue)).toBe(7);
        expect(await after(store, third!, queue)).toBe(8);
      });
    });

    describe('a penalty', () => {
      const penalty: Penalty = { refusals: 3, windowMs: 10_000, blockMs: 60_000 };
      const one = startLimits([spec({ capacity: 1, refillTokens: 1, refillIntervalMs: 1000 })], 0)[0]!;
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
        clock.nowMs = 56_000;
        expect(await passes(store, asked(1, { ...penalty, blockMs: 4000 }))).toBe(false);
        clock.nowMs = 60_000;
        expect(await passes(store, asked(1, { ...penalty, blockMs: 4000 }))).toBe(true);
      });
    });

    describe('an elastic limit', () => {
      const elastic = startLimits([{ ...spec({ capacity: 2, refillTokens: 1, refillIntervalMs: 60_000 }), throttle: 'elastic' }], 0)[0]!;
      const hard = startLimits([spec({ capacity: 5, refillTokens: 1, refillIntervalMs: 60_000 })], 0)[0]!;
      const remaining = async (store: BucketStore): Promise<number[]> =>
        (await takeFrom(store, [{ key: 'e', limit: elastic, cost: 0 }, { key: 'h', limit: hard, cost: 0 }])).map((decision) => decision.remaining);

      test('H2: has no say where it has nothing left and there is spare capacity; the others have theirs', async () => {
        const { store } = await create();
        const takes = [bucketTake('e', elastic), bucketTake('h', hard)];
        for (let i = 0; i < 2; i++) expect(isAllowed(await taken(store, takes))).toBe(true);
        expect(isAllowed(await taken(store, takes))).toBe(false);
        expect(await remaining(store)).toEqual([0, 3]);
        for (let i = 0; i < 3; i++) expect(isAllowed(await taken(store, takes, 0, true), true)).toBe(true);
        expect(await remaining(store)).toEqual([0, 0]);
        expect(isAllowed(await taken(store, takes, 0, true), true)).toBe(false);
      });

      test('takes what it has before it steps aside, and nothing is given back that it did not take', async () => {
        const { store } = await create();
        const takes = [bucketTake('e', elastic), bucketTake('h', hard)];
        await taken(store, takes, 0, true);
        expect(await remaining(store)).toEqual([1, 4]);
        await taken(store, takes, 0, true);
        const receipt = await taken(store, takes, 0, true);
        expect(await remaining(store)).toEqual([0, 2]);
        store.refund(receipt);
        await new Promise((resolve) => setImmediate(resolve));
        expect(await remaining(store)).toEqual([0, 3]);
      });
    });

    describe('after an edit of the numbers (as_is)', () => {
      const rows: { title: string; from: Partial<TokenBucketSpec>; spent: number; to: Partial<TokenBucketSpec>; editAtMs: number; lookAtMs: number; remaining: number }[] = [
        { title: 'a larger capacity gives no tokens', from: {}, spent: 10, to: { capacity: 1000 }, editAtMs: 1, lookAtMs: 1, remaining: 0 },
        { title: 'a full bucket keeps what it held', from: {}, spent: 0, to: { capacity: 1000 }, editAtMs: 1, lookAtMs: 1, remaining: 10 },
        { title: 'a smaller capacity cuts', from: {}, spent: 2, to: { capacity: 5 }, editAtMs: 1, lookAtMs: 1, remaining: 5 },
        { title: 'the old rate counts up to the edit, the new one from there', from: {}, spent: 10, to: { refillTokens: 1 }, editAtMs: 1000, lookAtMs: 3000, remaining: 7 },
        { title: 'a faster rate does not reach back', from: { refillTokens: 1, refillIntervalMs: 3_600_000 }, spent: 10, to: { refillTokens: 1000 }, editAtMs: 3_600_000, lookAtMs: 3_600_000, remaining: 1 },
        { title: 'greedy to interval', from: {}, spent: 10, to: { refill: 'interval' }, editAtMs: 500, lookAtMs: 1499, remaining: 2 },
        { title: 'interval to greedy', from: { refill: 'interval' }, spent: 10, to: { refill: 'greedy' }, editAtMs: 1500, lookAtMs: 1700, remaining: 6 },
        { title: 'to a rate of fractions', from: {}, spent: 7, to: { refillTokens: 7 }, editAtMs: 0, lookAtMs: 1000, remaining: 10 },
        { title: 'a launch surplus does not survive', from: { initialTokens: 1000 }, spent: 1, to: { capacity: 20 }, editAtMs: 1, lookAtMs: 1, remaining: 20 },
      ];
      test.each(rows)('$title', async ({ from, spent, to, editAtMs, lookAtMs, remaining }) => {
        const { store, clock } = await create();
        const before = startLimits([spec(from)], 0);
        if (spent > 0) await takeFrom(store, [{ key: 'k', limit: before[0]!, cost: spent }]);
        const [after] = editLimits(before, [spec({ ...from, ...to })], editAtMs) as [Limit];
        clock.nowMs = lookAtMs;
        expect((await takeFrom(store, [{ key: 'k', limit: after, cost: 0 }]))[0]!.remaining).toBe(remaining);
      });

      test('edits that nobody saw in between are applied one after the other', async () => {
        const { store, clock } = await create();
        const first = startLimits([spec()], 0);
        await takeFrom(store, [{ key: 'k', limit: first[0]!, cost: 10 }]);
        const second = editLimits(first, [spec({ capacity: 3 })], 1000);
        const third = editLimits(second, [spec({ capacity: 500 })], 1000);
        clock.nowMs = 1200;
        expect((await takeFrom(store, [{ key: 'k', limit: third[0]!, cost: 0 }]))[0]!.remaining).toBe(4);
      });

      test('whoever still has the old numbers is told, and takes nothing', async () => {
        const { store, clock } = await create();
        const old = startLimits([spec()], 0);
        const [edited] = editLimits(old, [spec({ capacity: 20 })], 0) as [Limit];
        await takeFrom(store, [{ key: 'k', limit: edited }]);
        await expect(takeFrom(store, [{ key: 'k', limit: old[0]! }])).rejects.toBeInstanceOf(NewerRulesError);
        await expect(takeFrom(store, [{ key: 'other', limit }, { key: 'k', limit: old[0]! }])).rejects.toBeInstanceOf(NewerRulesError);
        clock.advance(0);
        expect((await takeFrom(store, [{ key: 'k', limit: edited, cost: 0 }]))[0]!.remaining).toBe(9);
        expect((await takeFrom(store, [{ key: 'other', limit, cost: 0 }]))[0]!.remaining).toBe(10);
      });

      test('a bucket older than all that is known counts as empty', async () => {
        const { store } = await create();
        await takeFrom(store, [{ key: 'k', limit }]);
        const forgotten: Limit = { ...limit, generation: 30, previous: [] };
        expect((await takeFrom(store, [{ key: 'k', limit: forgotten }]))[0]).toMatchObject({ allowed: false, remaining: 0 });
      });
    });
  });
}


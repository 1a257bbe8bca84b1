import { startLimits, type BucketStore } from '../../src/index.js';
import { bucketTake, burst, isAllowed, taken, takeFrom } from '../takes.js';
import type { CreateStore } from './store-under-test.js';

/** What a store does where there is spare capacity. */
export function describeElasticLimits(create: CreateStore): void {
  describe('an elastic limit', () => {
    const elastic = startLimits([{ ...burst({ capacity: 2, refillTokens: 1, refillIntervalMs: 60_000 }), throttle: 'elastic' }], 0)[0]!;
    const hard = startLimits([burst({ capacity: 5, refillTokens: 1, refillIntervalMs: 60_000 })], 0)[0]!;
    const remaining = async (store: BucketStore): Promise<number[]> =>
      (
        await takeFrom(store, [
          { key: 'e', limit: elastic, cost: 0 },
          { key: 'h', limit: hard, cost: 0 },
        ])
      ).map((decision) => decision.remaining);

    test('H2: is bypassed where it has nothing left and there is spare capacity; other limits are not', async () => {
      const { store } = await create();
      const takes = [bucketTake('e', elastic), bucketTake('h', hard)];
      for (let i = 0; i < 2; i++) expect(isAllowed(await taken(store, takes))).toBe(true);
      expect(isAllowed(await taken(store, takes))).toBe(false);
      expect(await remaining(store)).toEqual([0, 3]);
      for (let i = 0; i < 3; i++) expect(isAllowed(await taken(store, takes, 0, true))).toBe(true);
      expect(await remaining(store)).toEqual([0, 0]);
      expect(isAllowed(await taken(store, takes, 0, true))).toBe(false);
    });

    test('gives what it has before it is bypassed, and a refund gives back nothing that was not taken', async () => {
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
}

import { editLimits, type BucketStore, type Limit, type LimitSpec, type Receipt } from '../../src/index.js';
import { startedLimit } from '../arbitraries.js';
import { bucketTake, burst, taken, takeFrom } from '../takes.js';
import type { CreateStore } from './store-under-test.js';

/** What a store gives back, and what not. */
export function describeRefunds(create: CreateStore): void {
  const limit = startedLimit(burst(), 0);
  const small = startedLimit(burst({ name: 'small', capacity: 2, refillTokens: 1 }), 0);

  describe('a refund', () => {
    const minute = 60_000;
    const specs: LimitSpec[] = [
      { name: 'l', algorithm: 'token_bucket', capacity: 10, refillTokens: 7, refillIntervalMs: minute, refill: 'greedy' },
      { name: 'l', algorithm: 'token_bucket', capacity: 10, refillTokens: 10, refillIntervalMs: minute, refill: 'interval' },
      {
        name: 'l',
        algorithm: 'token_bucket',
        capacity: 10,
        refillTokens: 10,
        refillIntervalMs: minute,
        refill: 'interval',
        align: 'clock',
      },
      {
        name: 'l',
        algorithm: 'token_bucket',
        capacity: 10,
        refillTokens: 10,
        refill: 'interval',
        calendar: 'day',
        timeZone: 'Asia/Kolkata',
      },
      { name: 'l', algorithm: 'gcra', capacity: 10, refillTokens: 10, refillIntervalMs: minute },
      { name: 'l', algorithm: 'leaky_bucket', capacity: 10, drainTokens: 10, drainIntervalMs: minute },
      { name: 'l', algorithm: 'fixed_window', limit: 10, windowMs: minute, start: 'clock' },
      { name: 'l', algorithm: 'fixed_window', limit: 10, windowMs: minute, start: 'first_request' },
      { name: 'l', algorithm: 'fixed_window', limit: 10, calendar: 'day', timeZone: 'Asia/Kolkata', start: 'clock' },
      { name: 'l', algorithm: 'sliding_log', limit: 10, windowMs: minute },
      { name: 'l', algorithm: 'sliding_counter', limit: 10, windowMs: minute, parts: 4 },
      { name: 'l', algorithm: 'concurrency', limit: 10, slotTimeoutMs: minute },
    ];
    const remaining = async (store: BucketStore, limit: Limit): Promise<number> =>
      (await takeFrom(store, [{ key: 'k', limit, cost: 0 }]))[0]!.remaining;
    /** Nobody waits for a refund to arrive, but the store hears in order. */
    const after = async (store: BucketStore, receipt: Receipt, limit: Limit): Promise<number> => {
      store.refund(receipt);
      await new Promise((resolve) => setImmediate(resolve));
      return remaining(store, limit);
    };

    test.each(specs.map((each) => [JSON.stringify(each), each] as const))(
      'gives back what was taken, whoever came in between, and no more: %s',
      async (_title, each) => {
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
      },
    );

    test.each([{ align: 'clock' as const }, { calendar: 'minute' as const, refillIntervalMs: undefined as never }])(
      'owes less with each step since: %j',
      async (steps) => {
        const { store, clock } = await create();
        const aligned = startedLimit(burst({ refillTokens: 2, refillIntervalMs: minute, refill: 'interval', ...steps }), 0);
        clock.nowMs = 59_999;
        const receipt = await taken(store, [bucketTake('k', aligned, 5)]);
        await taken(store, [bucketTake('k', aligned, 5)]);
        // Full minutes at one and at two: four tokens have come back, one has not.
        clock.nowMs = 2 * minute;
        expect(await remaining(store, aligned)).toBe(4);
        expect(await after(store, receipt, aligned)).toBe(5);
      },
    );

    test('of a request with several limits gives back to all of them', async () => {
      const { store } = await create();
      const receipt = await taken(store, [bucketTake('k', limit, 2), bucketTake('small', small, 2)]);
      expect(await after(store, receipt, limit)).toBe(10);
      expect((await takeFrom(store, [{ key: 'small', limit: small, cost: 0 }]))[0]!.remaining).toBe(2);
    });

    test('gives nothing back that an edit has carried over', async () => {
      const { store } = await create();
      const receipt = await taken(store, [bucketTake('k', limit, 5)]);
      const [edited] = editLimits([limit], [burst({ capacity: 20 })], 0) as [Limit];
      await takeFrom(store, [{ key: 'k', limit: edited, cost: 1 }]);
      expect(await after(store, receipt, edited)).toBe(4);
    });

    test('in a queue: the last one hands its place on, others do not, for theirs stands behind it', async () => {
      const { store } = await create();
      const queue = startedLimit(
        {
          name: 'q',
          algorithm: 'leaky_bucket',
          capacity: 10,
          drainTokens: 1,
          drainIntervalMs: 1000,
          onLimit: { delay: { maxWaitMs: 10_000 } },
        },
        0,
      );
      const [, second, third] = [
        await taken(store, [bucketTake('k', queue)]),
        await taken(store, [bucketTake('k', queue)]),
        await taken(store, [bucketTake('k', queue)]),
      ];
      expect(await after(store, second, queue)).toBe(7);
      expect(await after(store, third, queue)).toBe(8);
    });
  });
}

import {
  bucketOf,
  bucketOfPenalty,
  type BucketOperation,
  type BucketReading,
  type Decision,
  type Limit,
  type Penalty,
} from '../../src/index.js';
import { startedLimit } from '../arbitraries.js';
import { bucketTake, burst, isAllowed, penaltyTake, taken, takeFrom } from '../takes.js';
import type { CreateStore, OperableStore } from './store-under-test.js';

/** What a bucket that an operator has blocked does to requests with other limits, to penalties, and when the clock steps. */
export function describeBlocks(create: CreateStore): void {
  const operate = (store: OperableStore, limit: Limit, operation: BucketOperation, key = 'k'): Promise<BucketReading> =>
    store.operate(key, bucketOf(limit), operation);
  const look = async (store: OperableStore, limit: Limit, key = 'k'): Promise<Decision> =>
    (await takeFrom(store, [{ key, limit, cost: 0 }]))[0]!;

  describe('a block', () => {
    const limit = startedLimit(burst(), 0);
    const block = (store: OperableStore, forMs: number, key = 'k') => operate(store, limit, { kind: 'block', forMs }, key);

    test('of one of two limits takes nothing from the other', async () => {
      const { store } = await create();
      await block(store, 1000);
      for (const asked of [
        ['k', 'other'],
        ['other', 'k'],
      ]) {
        const decisions = await takeFrom(
          store,
          asked.map((key) => ({ key, limit })),
        );
        expect(decisions.map(({ blocked, allowed }) => [blocked, allowed])).toEqual(
          asked.map((key) => (key === 'k' ? [true, false] : [undefined, true])),
        );
      }
      expect((await look(store, limit, 'other')).remaining).toBe(10);
      expect(await operate(store, limit, { kind: 'read' })).toMatchObject({ remaining: 10 });
    });

    test('is replaced by the next one, longer or shorter', async () => {
      const { store, clock } = await create();
      for (const forMs of [1000, 90_000, 500]) expect(await block(store, forMs)).toMatchObject({ blockedForMs: forMs });
      clock.advance(500);
      expect((await takeFrom(store, [{ key: 'k', limit }]))[0]!.allowed).toBe(true);
    });

    test('lasts no longer than its length after a step back of the clock', async () => {
      const { store, clock } = await create();
      clock.nowMs = 3_600_000;
      await block(store, 1000);
      clock.nowMs = 60_000;
      expect((await look(store, limit)).retryAfterMs).toBe(1000);
      clock.nowMs = 60_999;
      expect((await look(store, limit)).retryAfterMs).toBe(1);
      clock.nowMs = 61_000;
      expect((await look(store, limit)).allowed).toBe(true);
      clock.nowMs = 3_600_000;
      await block(store, 1000);
      clock.nowMs = 70_000;
      expect(await operate(store, limit, { kind: 'read' })).toMatchObject({ blockedForMs: 1000 });
      clock.nowMs = 70_600;
      expect(await operate(store, limit, { kind: 'read' })).toMatchObject({ blockedForMs: 400 });
    });

    test('leaves a bucket full that nobody has touched, wherever the clock steps', async () => {
      const { store, clock } = await create();
      for (const startMs of [-3_600_000, 0, 3_600_000]) {
        const untouched = startedLimit(
          { ...burst(), algorithm: 'leaky_bucket', drainTokens: 7, drainIntervalMs: 1100, capacity: 10 },
          3_600_000 + startMs,
        );
        const key = `untouched.${startMs}`;
        clock.nowMs = 3_600_000;
        await operate(store, untouched, { kind: 'block', forMs: 1000 }, key);
        for (const nowMs of [3_599_999.999, 3_599_000, 7_200_000]) {
          clock.nowMs = nowMs;
          expect(await operate(store, untouched, { kind: 'read' }, key)).toMatchObject({ remaining: 10, resetAfterMs: 0 });
        }
      }
    });

    test('that is over is forgotten with the next take', async () => {
      const { store, clock } = await create();
      clock.nowMs = 10_000;
      await block(store, 1000);
      clock.nowMs = 11_000;
      expect((await takeFrom(store, [{ key: 'k', limit }]))[0]!.allowed).toBe(true);
      clock.nowMs = 10_500;
      expect(await operate(store, limit, { kind: 'read' })).toMatchObject({ blockedForMs: 0 });
      expect((await takeFrom(store, [{ key: 'k', limit }]))[0]).toMatchObject({ allowed: true });
    });

    test('that is over is forgotten with the next refund', async () => {
      const { store, clock } = await create();
      const daily = startedLimit({ name: 'l', algorithm: 'fixed_window', limit: 10, windowMs: 86_400_000, start: 'clock' }, 0);
      const read = (): Promise<BucketReading> => operate(store, daily, { kind: 'read' });
      clock.nowMs = 10_000;
      const receipt = await taken(store, [bucketTake('k', daily, 4)]);
      await operate(store, daily, { kind: 'block', forMs: 1000 });
      clock.nowMs = 11_000;
      store.refund(receipt);
      for (let i = 0; i < 1000 && (await read()).remaining === 6; i++);
      clock.nowMs = 10_500;
      expect(await read()).toMatchObject({ remaining: 10, blockedForMs: 0 });
    });

    test('is not passed by an elastic limit, whatever spare capacity there is', async () => {
      const { store } = await create();
      const elastic = startedLimit({ ...burst(), throttle: 'elastic' }, 0);
      await operate(store, elastic, { kind: 'block', forMs: 1000 });
      for (const asked of [['k'], ['k', 'other'], ['other', 'k']]) {
        const takes = asked.map((key) => bucketTake(key, elastic));
        expect(isAllowed(await taken(store, takes, 0, true))).toBe(false);
        const decisions = await takeFrom(
          store,
          asked.map((key) => ({ key, limit: elastic })),
          true,
        );
        expect(decisions[asked.indexOf('k')]).toMatchObject({ allowed: false, blocked: true, overLimit: false });
      }
      expect((await look(store, elastic, 'other')).remaining).toBe(10);
    });

    test('is felt by the other requests of one call', async () => {
      const { store } = await create();
      await block(store, 1000);
      const answers = await Promise.all(['a', 'k', 'b', 'k', 'a'].map((key) => takeFrom(store, [{ key, limit }])));
      expect(answers.map(([decision]) => decision!.remaining)).toEqual([9, 0, 9, 0, 8]);
    });

    describe('and a penalty', () => {
      const penalty: Penalty = { refusals: 2, windowMs: 10_000, blockMs: 60_000 };
      const bucket = bucketOfPenalty(penalty, 2);
      const ask = (store: OperableStore) =>
        taken(store, [bucketTake('a', limit, 1), bucketTake('k', limit, 1), penaltyTake('p', penalty, 2)]);
      const refusals = async (store: OperableStore) => 2 - (await store.operate('p', bucket, { kind: 'read' })).remaining;

      test('refusals by a block are not counted, whatever else would refuse', async () => {
        const { store } = await create();
        await block(store, 1000);
        for (let i = 0; i < 5; i++) expect(isAllowed(await ask(store))).toBe(false);
        expect(await refusals(store)).toBe(0);
        await takeFrom(store, [{ key: 'a', limit, cost: 10 }]);
        for (let i = 0; i < 5; i++) await ask(store);
        expect(await refusals(store)).toBe(0);
        await operate(store, limit, { kind: 'unblock' });
        await ask(store);
        expect(await refusals(store)).toBe(1);
      });

      test('a block of a limit of another rule is none of its business', async () => {
        const { store } = await create();
        await block(store, 1000, 'elsewhere');
        await takeFrom(store, [{ key: 'a', limit, cost: 10 }]);
        await taken(store, [bucketTake('elsewhere', limit), bucketTake('a', limit), bucketTake('k', limit), penaltyTake('p', penalty, 2)]);
        expect(await refusals(store)).toBe(1);
      });

      test('forgets refusals, and its own block, when it is reset', async () => {
        const { store } = await create();
        await takeFrom(store, [{ key: 'a', limit, cost: 10 }]);
        await ask(store);
        expect(await store.operate('p', bucket, { kind: 'reset' })).toEqual({ limit: 2, remaining: 2, resetAfterMs: 0, blockedForMs: 0 });
        for (let i = 0; i < 2; i++) await ask(store);
        expect(await store.operate('p', bucket, { kind: 'read' })).toEqual({
          limit: 2,
          remaining: 0,
          resetAfterMs: 60_000,
          blockedForMs: 0,
        });
        await operate(store, limit, { kind: 'reset' }, 'a');
        expect(isAllowed(await ask(store))).toBe(false);
        await store.operate('p', bucket, { kind: 'reset' });
        expect(isAllowed(await ask(store))).toBe(true);
      });

      test('a penalty that is blocked itself counts nothing', async () => {
        const { store } = await create();
        await store.operate('p', bucket, { kind: 'block', forMs: 1000 });
        expect(isAllowed(await ask(store))).toBe(false);
        await takeFrom(store, [{ key: 'a', limit, cost: 10 }]);
        for (let i = 0; i < 3; i++) await ask(store);
        expect(await store.operate('p', bucket, { kind: 'unblock' })).toMatchObject({ remaining: 2 });
      });
    });
  });
}

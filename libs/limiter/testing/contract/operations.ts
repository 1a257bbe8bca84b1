import {
  bucketOf,
  bucketOfPenalty,
  editLimits,
  NewerRulesError,
  OperationNotPossibleError,
  type BucketOperation,
  type BucketReading,
  type Limit,
  type LimitSpec,
} from '../../src/index.js';
import { startedLimit } from '../arbitraries.js';
import { describeAdjustments } from '../properties/adjustments.js';
import { bucketTake, burst, isAllowed, taken, takeFrom } from '../takes.js';
import type { CreateStore, OperableStore } from './store-under-test.js';

const MINUTE_MS = 60_000;
/** The first minute of a day, everywhere that these tests look. */
const START_MS = 90_000_000_000;

const withTokens: LimitSpec[] = [
  { name: 'l', algorithm: 'token_bucket', capacity: 10, refillTokens: 7, refillIntervalMs: MINUTE_MS, refill: 'greedy' },
  { name: 'l', algorithm: 'token_bucket', capacity: 10, refillTokens: 10, refillIntervalMs: MINUTE_MS, refill: 'greedy' },
  { name: 'l', algorithm: 'token_bucket', capacity: 10, refillTokens: 10, refillIntervalMs: MINUTE_MS, refill: 'interval' },
  { name: 'l', algorithm: 'gcra', capacity: 10, refillTokens: 10, refillIntervalMs: MINUTE_MS },
  {
    name: 'l',
    algorithm: 'leaky_bucket',
    capacity: 10,
    drainTokens: 20,
    drainIntervalMs: MINUTE_MS,
    onLimit: { delay: { maxWaitMs: 30_000 } },
  },
  { name: 'l', algorithm: 'fixed_window', limit: 10, windowMs: MINUTE_MS, start: 'clock' },
  { name: 'l', algorithm: 'fixed_window', limit: 10, windowMs: MINUTE_MS, start: 'first_request' },
  { name: 'l', algorithm: 'fixed_window', limit: 10, calendar: 'day', timeZone: 'Asia/Kolkata', start: 'clock' },
  { name: 'l', algorithm: 'sliding_log', limit: 10, windowMs: MINUTE_MS },
  { name: 'l', algorithm: 'sliding_counter', limit: 10, windowMs: MINUTE_MS, parts: 4 },
];
const slots: LimitSpec = { name: 'l', algorithm: 'concurrency', limit: 10, slotTimeoutMs: MINUTE_MS };
const titled = (specs: readonly LimitSpec[]) => specs.map((spec) => [JSON.stringify(spec), spec] as const);

/** What operators do to live buckets. */
export function describeOperations(create: CreateStore): void {
  const operate = (store: OperableStore, limit: Limit, operation: BucketOperation, key = 'k'): Promise<BucketReading> =>
    store.operate(key, bucketOf(limit), operation);
  const adjust = (store: OperableStore, limit: Limit, tokens: number) => operate(store, limit, { kind: 'adjust', tokens });
  const look = async (store: OperableStore, limit: Limit, key = 'k') => (await takeFrom(store, [{ key, limit, cost: 0 }]))[0]!;
  const started = async (spec: LimitSpec) => {
    const under = await create();
    under.clock.nowMs = START_MS;
    return { ...under, limit: startedLimit(spec, 0) };
  };

  describe.each(titled([...withTokens, slots]))('an operation on %s', (_title, spec) => {
    test('reading says what a look says', async () => {
      const { store, clock, limit } = await started(spec);
      expect(await operate(store, limit, { kind: 'read' })).toEqual({ remaining: 10, limit: 10, resetAfterMs: 0, blockedForMs: 0 });
      await taken(store, [bucketTake('k', limit, 4)], 1);
      clock.advance(1);
      const { remaining, limit: most, resetAfterMs } = await look(store, limit);
      expect(remaining).toBe(6);
      expect(resetAfterMs).toBeGreaterThan(0);
      for (let i = 0; i < 2; i++)
        expect(await operate(store, limit, { kind: 'read' })).toEqual({ remaining, limit: most, resetAfterMs, blockedForMs: 0 });
    });

    test('reset fills it up', async () => {
      const { store, limit } = await started(spec);
      await taken(store, [bucketTake('k', limit, 6)], 1);
      await taken(store, [bucketTake('k', limit, 3)], 2);
      const full = { remaining: 10, limit: 10, resetAfterMs: 0, blockedForMs: 0 };
      expect(await operate(store, limit, { kind: 'reset' })).toEqual(full);
      expect(await operate(store, limit, { kind: 'read' })).toEqual(full);
      expect(isAllowed(await taken(store, [bucketTake('k', limit, 10)], 3))).toBe(true);
      expect((await look(store, limit)).remaining).toBe(0);
    });

    test('a block refuses all that asks, and the bucket goes on beneath it', async () => {
      const { store, clock, limit } = await started(spec);
      await taken(store, [bucketTake('k', limit, 8)], 1);
      const before = await operate(store, limit, { kind: 'read' });
      expect(await operate(store, limit, { kind: 'block', forMs: 90_000_000 })).toEqual({ ...before, blockedForMs: 90_000_000 });
      clock.advance(1);
      for (const cost of [0, 1, 2]) {
        const [decision] = await takeFrom(store, [{ key: 'k', limit, cost }]);
        expect(decision).toMatchObject({
          allowed: false,
          blocked: true,
          limit: 10,
          remaining: 0,
          retryAfterMs: 89_999_999,
          resetAfterMs: 89_999_999,
        });
      }
      expect((await takeFrom(store, [{ key: 'k', limit, cost: 11 }]))[0]).toMatchObject({ allowed: false, retryAfterMs: 'never' });
      clock.advance(89_999_998);
      expect((await takeFrom(store, [{ key: 'k', limit }]))[0]).toMatchObject({ allowed: false, blocked: true, retryAfterMs: 1 });
      expect(await operate(store, limit, { kind: 'read' })).toEqual({ remaining: 10, limit: 10, resetAfterMs: 0, blockedForMs: 1 });
      clock.advance(1);
      expect(await operate(store, limit, { kind: 'read' })).toMatchObject({ blockedForMs: 0 });
      expect((await takeFrom(store, [{ key: 'k', limit, cost: 10 }]))[0]).toMatchObject({ allowed: true, remaining: 0 });
    });

    test('unblocking leaves the bucket as it is, and so does a block of one that is missing', async () => {
      const { store, limit } = await started(spec);
      await operate(store, limit, { kind: 'block', forMs: 1000 }, 'missing');
      expect((await look(store, limit, 'missing')).allowed).toBe(false);
      await taken(store, [bucketTake('k', limit, 7)], 1);
      const before = await operate(store, limit, { kind: 'read' });
      await operate(store, limit, { kind: 'block', forMs: 1000 });
      expect(await operate(store, limit, { kind: 'unblock' })).toEqual(before);
      expect(await operate(store, limit, { kind: 'unblock' })).toEqual(before);
      expect((await takeFrom(store, [{ key: 'k', limit, cost: 3 }]))[0]).toMatchObject({ allowed: true, remaining: 0 });
      expect(await operate(store, limit, { kind: 'unblock' }, 'missing')).toMatchObject({
        remaining: 10,
        resetAfterMs: 0,
        blockedForMs: 0,
      });
    });

    test('an edit, a reset and a refund in a block keep it', async () => {
      const { store, clock, limit } = await started(spec);
      await taken(store, [bucketTake('k', limit, 3)], 1);
      // Not the request that opens a window: others may stand in it.
      clock.advance(1);
      const receipt = await taken(store, [bucketTake('k', limit, 4)], 2);
      await operate(store, limit, { kind: 'block', forMs: 10_000 });
      store.refund(receipt);
      // Nobody waits for a refund to arrive.
      for (let i = 0; i < 1000 && (await operate(store, limit, { kind: 'read' })).remaining === 3; i++);
      expect(await operate(store, limit, { kind: 'read' })).toMatchObject({ remaining: 7, blockedForMs: 10_000 });
      clock.advance(1000);
      expect(await operate(store, limit, { kind: 'reset' })).toMatchObject({ remaining: 10, blockedForMs: 9000 });
      const [smaller] = editLimits([limit], [{ ...spec, ...('capacity' in spec ? { capacity: 6 } : { limit: 6 }) }], clock.nowMs) as [
        Limit,
      ];
      expect((await takeFrom(store, [{ key: 'k', limit: smaller }]))[0]).toMatchObject({ blocked: true, retryAfterMs: 9000 });
      const [other] = editLimits([smaller], [{ name: 'l', algorithm: 'sliding_log', limit: 5, windowMs: 1000 }], clock.nowMs) as [Limit];
      expect((await takeFrom(store, [{ key: 'k', limit: other }]))[0]).toMatchObject({ blocked: true, retryAfterMs: 9000 });
      expect(await operate(store, other, { kind: 'read' })).toMatchObject({ remaining: 5, blockedForMs: 9000 });
      clock.advance(9000);
      expect((await takeFrom(store, [{ key: 'k', limit: other, cost: 5 }]))[0]).toMatchObject({ allowed: true, remaining: 0 });
    });
  });

  describe.each(titled(withTokens))('tokens of %s', (_title, spec) => {
    test('are taken down to empty and added up to full, exactly', async () => {
      const { store, limit } = await started(spec);
      await taken(store, [bucketTake('k', limit, 3)]);
      expect(await adjust(store, limit, -2)).toMatchObject({ remaining: 5 });
      expect(await adjust(store, limit, -1_000_000_000)).toMatchObject({ remaining: 0 });
      expect((await takeFrom(store, [{ key: 'k', limit }]))[0]!.allowed).toBe(false);
      expect(await adjust(store, limit, 4)).toMatchObject({ remaining: 4 });
      expect(await adjust(store, limit, 5)).toMatchObject({ remaining: 9 });
      expect(await adjust(store, limit, 1_000_000_000)).toEqual({ remaining: 10, limit: 10, resetAfterMs: 0, blockedForMs: 0 });
      expect((await takeFrom(store, [{ key: 'k', limit, cost: 10 }]))[0]).toMatchObject({ allowed: true });
      expect((await takeFrom(store, [{ key: 'k', limit }]))[0]).toMatchObject({ allowed: false });
    });

    test('are carried over an edit before they are adjusted', async () => {
      const { store, clock, limit } = await started(spec);
      await taken(store, [bucketTake('k', limit, 10)]);
      const [edited] = editLimits(
        [limit],
        [{ ...spec, ...('capacity' in spec ? { capacity: 20 } : { limit: 20 }), onEdit: 'additive' }],
        clock.nowMs,
      ) as [Limit];
      expect(await adjust(store, edited, 3)).toMatchObject({ remaining: 13, limit: 20 });
    });
  });

  describe('an operation on tokens', () => {
    test('neither adds to a launch surplus nor gives it again', async () => {
      for (const refill of ['greedy', 'interval'] as const) {
        const { store } = await create();
        const limit = startedLimit(burst({ refill, initialTokens: 100 }), 0);
        expect(await adjust(store, limit, 5)).toMatchObject({ remaining: 100 });
        expect(await adjust(store, limit, -30)).toMatchObject({ remaining: 70 });
        expect(await adjust(store, limit, 5)).toMatchObject({ remaining: 70 });
        expect(await operate(store, limit, { kind: 'reset' })).toMatchObject({ remaining: 10, resetAfterMs: 0 });
        expect(await adjust(store, limit, 5)).toMatchObject({ remaining: 10 });
        expect(await adjust(store, limit, -1_000_000_000)).toMatchObject({ remaining: 0 });
      }
    });

    test('leaves the steps of an interval where they are', async () => {
      const { store, clock } = await create();
      const limit = startedLimit(burst({ refill: 'interval', refillTokens: 2, refillIntervalMs: 1000 }), 0);
      await takeFrom(store, [{ key: 'k', limit, cost: 10 }]);
      clock.nowMs = 900;
      expect(await adjust(store, limit, 3)).toMatchObject({ remaining: 3, resetAfterMs: 3100 });
      expect(await adjust(store, limit, -2)).toMatchObject({ remaining: 1, resetAfterMs: 4100 });
      clock.nowMs = 1000;
      expect((await look(store, limit)).remaining).toBe(3);
    });

    test('counts in the window of now, and gives back the newest first', async () => {
      const { store, clock } = await create();
      const log = startedLimit({ name: 'l', algorithm: 'sliding_log', limit: 10, windowMs: 1000 }, 0);
      const counter = startedLimit({ name: 'l', algorithm: 'sliding_counter', limit: 10, windowMs: 1000, parts: 2 }, 0);
      const each = async (operation: (limit: Limit, key: string) => Promise<{ remaining: number }>): Promise<number[]> => [
        (await operation(log, 'log')).remaining,
        (await operation(counter, 'counter')).remaining,
      ];
      const by = (tokens: number) => each((limit, key) => operate(store, limit, { kind: 'adjust', tokens }, key));
      const looks = () => each((limit, key) => look(store, limit, key));
      await each(async (limit, key) => (await takeFrom(store, [{ key, limit, cost: 3 }]))[0]!);
      clock.nowMs = 500;
      await each(async (limit, key) => (await takeFrom(store, [{ key, limit, cost: 2 }]))[0]!);
      clock.nowMs = 999;
      expect(await by(-4)).toEqual([1, 1]);
      // Four of now, one of the middle.
      expect(await by(5)).toEqual([6, 6]);
      clock.nowMs = 1250;
      // Of the counter's three that are leaving, a half still counts, rounded down.
      expect(await looks()).toEqual([9, 8]);
      // What is left of the middle, and one of those that are leaving.
      expect(await by(2)).toEqual([10, 10]);
      clock.nowMs = 1400;
      expect(await by(-3)).toEqual([7, 7]);
      clock.nowMs = 1999;
      expect(await looks()).toEqual([7, 7]);
    });

    test('of a window gives back what counts from before a step back of the clock last', async () => {
      const { store, clock } = await create();
      const limit = startedLimit({ name: 'l', algorithm: 'fixed_window', limit: 10, windowMs: 1000, start: 'clock' }, 0);
      clock.nowMs = 5000;
      await takeFrom(store, [{ key: 'k', limit, cost: 4 }]);
      clock.nowMs = 4900;
      expect(await adjust(store, limit, -3)).toMatchObject({ remaining: 3 });
      expect(await adjust(store, limit, 5)).toMatchObject({ remaining: 8, resetAfterMs: 1000 });
      clock.nowMs = 5100;
      expect((await look(store, limit)).remaining).toBe(8);
      expect(await adjust(store, limit, -100)).toMatchObject({ remaining: 0 });
      expect(await adjust(store, limit, 100)).toMatchObject({ remaining: 10, resetAfterMs: 0 });
    });

    test('is not possible where there are none, and says for which algorithm', async () => {
      const { store } = await create();
      const atOnce = startedLimit(slots, 0);
      const refused = await adjust(store, atOnce, 1).catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(OperationNotPossibleError);
      expect(refused).toMatchObject({ algorithm: 'concurrency', operation: 'adjust' });
      await expect(
        store.operate('p', bucketOfPenalty({ refusals: 1, windowMs: 1, blockMs: 1 }, 1), { kind: 'adjust', tokens: 1 }),
      ).rejects.toThrow('penalty');
    });

    test.each<BucketOperation>([
      ...[0, 0.5, 1_000_000_001, -1_000_000_001, NaN, Infinity].map((tokens) => ({ kind: 'adjust' as const, tokens })),
      ...[0, -1, 0.5, 366 * 86_400_000 + 1, NaN].map((forMs) => ({ kind: 'block' as const, forMs })),
    ])('out of bounds does nothing: %j', async (operation) => {
      const { store } = await create();
      const limit = startedLimit(burst(), 0);
      await takeFrom(store, [{ key: 'k', limit, cost: 4 }]);
      await expect(operate(store, limit, operation)).rejects.toMatchObject({
        name: 'InvalidOperationError',
        field: operation.kind === 'block' ? 'forMs' : 'tokens',
      });
      expect(await look(store, limit)).toMatchObject({ allowed: true, remaining: 6 });
    });

    test('by numbers of former rules does nothing', async () => {
      const { store } = await create();
      const old = startedLimit(burst(), 0);
      const [edited] = editLimits([old], [burst({ capacity: 20 })], 0) as [Limit];
      await takeFrom(store, [{ key: 'k', limit: edited, cost: 1 }]);
      for (const operation of [
        { kind: 'read' },
        { kind: 'reset' },
        { kind: 'adjust', tokens: 1 },
        { kind: 'block', forMs: 1000 },
        { kind: 'unblock' },
      ] as const) {
        await expect(operate(store, old, operation)).rejects.toBeInstanceOf(NewerRulesError);
      }
      expect(await operate(store, edited, { kind: 'block', forMs: 1000 })).toMatchObject({ remaining: 9, blockedForMs: 1000 });
      // Whoever has old rules fetches them again, blocked or not.
      await expect(takeFrom(store, [{ key: 'k', limit: old }])).rejects.toBeInstanceOf(NewerRulesError);
      await expect(
        takeFrom(store, [
          { key: 'k', limit: old },
          { key: 'other', limit: old },
        ]),
      ).rejects.toBeInstanceOf(NewerRulesError);
    });
  });

  describeAdjustments(create);
}

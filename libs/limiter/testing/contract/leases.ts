import { bucketOf, editLimits, MOST_LEASE_US, MOST_LESSEES, NewerRulesError, type Limit, type LimitSpec } from '../../src/index.js';
import { startedLimit } from '../arbitraries.js';
import { lendersOf, lentBy, START_MS, wordOf, type CreateLender } from '../lending.js';
import { bucketTake, burst, taken, takeFrom } from '../takes.js';
import { describeOccupation } from './occupation.js';

const MINUTE_MS = 60_000;
const SECOND_US = 1_000_000;

/** Ten tokens, and nothing comes back while a test looks. */
const slow: LimitSpec[] = [
  { name: 'l', algorithm: 'token_bucket', capacity: 10, refillTokens: 1, refillIntervalMs: MINUTE_MS, refill: 'greedy' },
  { name: 'l', algorithm: 'token_bucket', capacity: 10, refillTokens: 1, refillIntervalMs: MINUTE_MS, refill: 'interval' },
  { name: 'l', algorithm: 'token_bucket', capacity: 10, refillTokens: 1, calendar: 'minute', refill: 'interval' },
  { name: 'l', algorithm: 'gcra', capacity: 10, refillTokens: 1, refillIntervalMs: MINUTE_MS },
  { name: 'l', algorithm: 'leaky_bucket', capacity: 10, drainTokens: 1, drainIntervalMs: MINUTE_MS },
  { name: 'l', algorithm: 'fixed_window', limit: 10, windowMs: MINUTE_MS, start: 'clock' },
  { name: 'l', algorithm: 'fixed_window', limit: 10, windowMs: MINUTE_MS, start: 'first_request' },
  { name: 'l', algorithm: 'fixed_window', limit: 10, calendar: 'day', timeZone: 'Asia/Kolkata', start: 'clock' },
];
const titled = (specs: readonly LimitSpec[]) => specs.map((spec) => [JSON.stringify(spec), spec] as const);

/** What every store that lends must do. `create` gives an empty store on a clock that stands at 0. */
export function describeLender(name: string, create: CreateLender): void {
  const started = lendersOf(create);

  describe(`${name} lends tokens`, () => {
    describe.each(titled(slow))('of %s', (_title, spec) => {
      test('up to half of the capacity, which nobody else can take', async () => {
        const { say, left, takes } = await started(spec);
        expect(await say({ wants: 3 })).toMatchObject({ granted: 3, charged: 0, forUs: SECOND_US, lentElsewhere: 0 });
        expect(await say({ lessee: 2, wants: 100 })).toMatchObject({ granted: 2, lentElsewhere: 3 });
        expect(await say({ lessee: 3, wants: 1 })).toMatchObject({ granted: 0, forUs: 0, lentElsewhere: 5 });
        expect(await left()).toBe(5);
        expect(await takes(6)).toBe(false);
        expect(await takes(5)).toBe(true);
        expect(await takes(1)).toBe(false);
      });

      test('up to half of the capacity, however often a lease is renewed', async () => {
        const { say, left } = await started(spec);
        await say({ wants: 4 });
        expect(await say({ sequence: 2, holds: 4, wants: 4 })).toMatchObject({ kept: 4, granted: 1 });
        expect(await say({ sequence: 3, holds: 5, wants: 4 })).toMatchObject({ kept: 5, granted: 0, forUs: SECOND_US });
        expect(await left()).toBe(5);
      });

      test('as far as they are there', async () => {
        const { say, left, takes } = await started(spec);
        await takes(8);
        expect(await say({ wants: 4 })).toMatchObject({ granted: 2 });
        expect(await say({ lessee: 2, wants: 1 })).toMatchObject({ granted: 0 });
        expect(await left()).toBe(0);
      });

      test('what is given back can be taken, what is spent cannot', async () => {
        const { say, left } = await started(spec);
        await say({ wants: 5 });
        expect(await say({ sequence: 2, holds: 2, givesBack: 2 })).toMatchObject({ kept: 2, granted: 0, forUs: SECOND_US });
        expect(await left()).toBe(7);
        // It has lent two: it can hold no more, nor give more back.
        expect(await say({ sequence: 3, holds: 0, givesBack: 100 })).toMatchObject({ forUs: 0 });
        expect(await left()).toBe(9);
        expect(await say({ lessee: 2, wants: 5 })).toMatchObject({ granted: 5, lentElsewhere: 0 });
      });

      test('what is overspent is taken as far as it is there', async () => {
        const { say, left } = await started(spec);
        expect(await say({ overspent: 4 })).toMatchObject({ granted: 0, charged: 4 });
        expect(await left()).toBe(6);
        expect(await say({ sequence: 2, overspent: 100, wants: 5 })).toMatchObject({ granted: 0, charged: 6 });
        expect(await left()).toBe(0);
      });

      test('a call that comes late or twice changes nothing', async () => {
        const { say, left } = await started(spec);
        await say({ sequence: 7, wants: 4 });
        for (const sequence of [7, 6, 1]) {
          expect(await say({ sequence, givesBack: 4, overspent: 3, wants: 1 })).toMatchObject({ granted: 0, charged: 0, forUs: 0 });
        }
        expect(await left()).toBe(6);
        expect(await say({ lessee: 2, wants: 5 })).toMatchObject({ granted: 1, lentElsewhere: 4 });
      });

      test('a lease that ends without a word is spent, and its room can be lent again', async () => {
        const { say, left, clock } = await started(spec);
        await say({ wants: 5 });
        clock.advance(1000);
        expect(await say({ lessee: 2, wants: 1 })).toMatchObject({ granted: 0, lentElsewhere: 5 });
        clock.advance(0.001);
        expect(await say({ lessee: 2, wants: 3 })).toMatchObject({ granted: 3, lentElsewhere: 0 });
        expect(await left()).toBe(2);
        // What it thinks it holds of it is none of the store's.
        expect(await say({ sequence: 2, holds: 5, givesBack: 5 })).toMatchObject({ kept: 0, granted: 0, forUs: 0, lentElsewhere: 3 });
        expect(await left()).toBe(2);
      });

      test('a renewal keeps what is held, and never ends a lease earlier', async () => {
        const { say, clock } = await started(spec);
        await say({ wants: 3, forUs: 2 * SECOND_US });
        clock.advance(1000);
        expect(await say({ sequence: 2, holds: 3, wants: 1, forUs: 1000 })).toMatchObject({ kept: 3, granted: 1, forUs: 1000 });
        clock.advance(1000);
        expect(await say({ lessee: 2 })).toMatchObject({ lentElsewhere: 4 });
        clock.advance(0.001);
        expect(await say({ lessee: 2 })).toMatchObject({ lentElsewhere: 0 });
      });

      test('neither a reset nor tokens that are added fill what is lent', async () => {
        const { store, say, limit, left, takes } = await started(spec);
        await say({ wants: 4 });
        await takes(5);
        const operate = (kind: 'reset' | 'read') => store.operate('k', bucketOf(limit), { kind });
        expect(await operate('reset')).toMatchObject({ remaining: 6 });
        await takes(5);
        expect(await store.operate('k', bucketOf(limit), { kind: 'adjust', tokens: 100 })).toMatchObject({ remaining: 6 });
        expect(await operate('read')).toMatchObject({ remaining: 6 });
        await say({ sequence: 2, holds: 1, givesBack: 0 });
        await operate('reset');
        expect(await left()).toBe(9);
      });

      test('a refund does not fill what is lent', async () => {
        const { store, say, left, limit, clock } = await started(spec);
        // Not the request that opens a window: others may stand in it.
        await taken(store, [bucketTake('k', limit, 1)]);
        clock.advance(1);
        const receipt = await taken(store, [bucketTake('k', limit, 4)]);
        await say({ wants: 5 });
        store.refund(receipt);
        // Nobody waits for a refund to arrive.
        for (let i = 0; i < 1000 && (await left()) === 0; i++);
        expect(await left()).toBe(4);
        store.refund(receipt);
        for (let i = 0; i < 1000 && (await left()) === 4; i++);
        expect(await left()).toBe(5);
      });

      test('a bucket that is blocked lends nothing and takes back what is given back', async () => {
        const { store, say, limit, left } = await started(spec);
        await say({ wants: 5 });
        await store.operate('k', bucketOf(limit), { kind: 'block', forMs: 60_000 });
        expect(await say({ sequence: 2, holds: 3, givesBack: 1, wants: 2 })).toMatchObject({
          granted: 0,
          level: { blockedForUs: 60_000_000 },
        });
        await store.operate('k', bucketOf(limit), { kind: 'unblock' });
        expect(await left()).toBe(6);
        expect(await say({ lessee: 2, wants: 5 })).toMatchObject({ granted: 2, lentElsewhere: 3 });
      });

      test('what is lent is lent on over an edit, and fills a smaller bucket at most', async () => {
        const { store, say, limit, clock } = await started(spec);
        await say({ wants: 5 });
        const [smaller] = editLimits(
          [limit],
          [{ ...spec, ...('capacity' in spec ? { capacity: 4 } : { limit: 4 }), onEdit: 'reset' }],
          clock.nowMs,
        ) as [Limit];
        expect((await takeFrom(store, [{ key: 'k', limit: smaller, cost: 0 }]))[0]!.remaining).toBe(0);
        await expect(say({ sequence: 2, holds: 5 })).rejects.toBeInstanceOf(NewerRulesError);
        expect(await lentBy(store, { limit: smaller, sequence: 2, holds: 1, givesBack: 3 })).toMatchObject({ lentElsewhere: 0 });
        expect((await takeFrom(store, [{ key: 'k', limit: smaller, cost: 0 }]))[0]!.remaining).toBe(3);
        const [larger] = editLimits(
          [smaller],
          [{ ...spec, ...('capacity' in spec ? { capacity: 20 } : { limit: 20 }), onEdit: 'reset' }],
          clock.nowMs,
        ) as [Limit];
        expect((await takeFrom(store, [{ key: 'k', limit: larger, cost: 0 }]))[0]!.remaining).toBe(19);
      });

      test('a clock that steps back ends a lease no later than one that begins then', async () => {
        const { say, clock } = await started(spec);
        await say({ wants: 5, forUs: MOST_LEASE_US });
        clock.advance(-400 * 86_400_000);
        expect(await say({ lessee: 2 })).toMatchObject({ lentElsewhere: 5 });
        clock.advance(MOST_LEASE_US / 1000);
        expect(await say({ lessee: 2 })).toMatchObject({ lentElsewhere: 5 });
        clock.advance(0.001);
        expect(await say({ lessee: 2 })).toMatchObject({ lentElsewhere: 0 });
      });
    });

    describeOccupation(create);

    test('a bucket of one token lends nothing', async () => {
      const { say } = await started(burst({ capacity: 1, refillTokens: 1 }));
      expect(await say({ wants: 1 })).toMatchObject({ granted: 0 });
    });

    test('a surplus is not lent, and what is overspent comes out of it', async () => {
      const { say, left } = await started(burst({ initialTokens: 20 }), START_MS);
      expect((await say({ wants: 1, overspent: 2 })).granted).toBe(0);
      const before = await left();
      expect(await say({ sequence: 2, overspent: 3 })).toMatchObject({ charged: 3 });
      expect(await left()).toBe(before - 3);
    });

    test('a bucket has so many lessees and no more', async () => {
      const { say } = await started(burst({ capacity: 1000, refillTokens: 1, refillIntervalMs: MINUTE_MS }));
      for (let lessee = 1; lessee <= MOST_LESSEES; lessee++) expect(await say({ lessee, wants: 1 })).toMatchObject({ granted: 1 });
      expect(await say({ lessee: MOST_LESSEES + 1, wants: 1 })).toMatchObject({ granted: 0, lentElsewhere: MOST_LESSEES });
      expect(await say({ lessee: 9, sequence: 2, holds: 1, wants: 2 })).toMatchObject({ granted: 2, lentElsewhere: MOST_LESSEES - 1 });
    });

    test('what cannot be lent is an error of the program', async () => {
      const { store } = await create();
      const specs: LimitSpec[] = [
        { name: 'l', algorithm: 'sliding_log', limit: 10, windowMs: MINUTE_MS },
        { name: 'l', algorithm: 'sliding_counter', limit: 10, windowMs: MINUTE_MS, parts: 4 },
        { name: 'l', algorithm: 'concurrency', limit: 10, slotTimeoutMs: MINUTE_MS },
        {
          name: 'l',
          algorithm: 'leaky_bucket',
          capacity: 10,
          drainTokens: 1,
          drainIntervalMs: 1000,
          onLimit: { delay: { maxWaitMs: 1000 } },
        },
        { ...burst(), throttle: 'elastic' },
      ];
      for (const spec of specs) expect(() => store.lend(wordOf({ limit: startedLimit(spec, 0) }), () => {})).toThrow(TypeError);
      const withheld = { ...wordOf({ limit: startedLimit(burst(), 0) }), bucket: bucketTake('k', startedLimit(burst(), 0), 1, 20).bucket };
      expect(() => store.lend(withheld, () => {})).toThrow(TypeError);
    });

    test.each([
      { lessee: 0 },
      { lessee: 2 ** 32 },
      { sequence: 0 },
      { sequence: 1.5 },
      { holds: -1 },
      { givesBack: NaN },
      { overspent: -1 },
      { wants: Infinity },
      { forUs: 0 },
      { forUs: MOST_LEASE_US + 1 },
    ])('numbers out of bounds are an error of the program: %j', async (numbers) => {
      const { store } = await create();
      expect(() => store.lend(wordOf({ limit: startedLimit(burst(), 0), ...numbers }), () => {})).toThrow(RangeError);
    });
  });
}

import * as fc from 'fast-check';
import { MOST_LEASE_US, type BucketOperation, type LimitSpec } from '../../src/index.js';
import { LeaseWorld, type LeaseEvent, type LeaseWord } from './lease-world.js';
import { runs } from './runs.js';

/**
 * Law 1 with leases: a plain bucket, from which each token is taken when it is spent, never has less than what lessees spend. It is the oracle here: whatever
 * passes at the store or is spent from a lease has to pass there at the same instant. Lessees spend whenever they like until their end; their words and the
 * answers are lost, late, doubled and out of order; they die; administrators edit the limit and operators reset and adjust the bucket.
 */
export function describeLeaseLaw(usualRuns: number): void {
  describe('leases keep law 1', () => {
    test('whatever is lost, late or dead, no more passes than from a plain bucket', async () => {
      const seen = { spent: 0, passed: 0, granted: 0, late: 0, lost: 0, deaths: 0, edits: 0, operations: 0, refunds: 0, ended: 0 };
      await fc.assert(
        fc.asyncProperty(cases(lendable, 0), async ([spec, events]) => {
          const world = new LeaseWorld(spec);
          for (const event of events) await world.does(event);
          for (const [what, times] of Object.entries(world.seen)) seen[what as keyof typeof seen] += times;
          expect(world.tooMany).toEqual([]);
        }),
        { ...runs(usualRuns), examples: FOUND.map((found) => [found] as const) as never },
      );
      const missing = Object.entries(seen).filter(([, times]) => times < usualRuns / 10);
      expect({ seen, missing }).toEqual({ seen, missing: [] });
    });

    // Steps of an interval are elsewhere after a step back, which moves a burst by a part of an interval: with a continuous refill the oracle is exact.
    test('a clock of the store that steps back lends nothing twice', async () => {
      let steps = 0;
      await fc.assert(
        fc.asyncProperty(cases(greedy, -1), async ([spec, events]) => {
          const world = new LeaseWorld(spec);
          for (const event of events) await world.does(event);
          steps += world.stepsOfClock;
          expect(world.tooMany).toEqual([]);
        }),
        runs(usualRuns),
      );
      expect(steps).toBeGreaterThan(usualRuns);
    });

    test('a clock of the store that steps forward lets pass at most once more what was lent then', async () => {
      let steps = 0;
      let more = 0;
      await fc.assert(
        fc.asyncProperty(cases(unaligned, 1), async ([spec, events]) => {
          const world = new LeaseWorld(spec);
          for (const event of events) await world.does(event);
          steps += world.stepsOfClock;
          more += world.beyond;
          expect(world.beyond).toBeLessThanOrEqual(world.lentAtSteps);
        }),
        runs(usualRuns),
      );
      expect(steps).toBeGreaterThan(usualRuns);
      // Otherwise the bound is not needed.
      expect(more).toBeGreaterThan(0);
    });
  });
}

const capacity = fc.oneof(fc.integer({ min: 2, max: 12 }), fc.integer({ min: 2, max: 200 }));
const refillTokens = fc.oneof(fc.integer({ min: 1, max: 10 }), fc.integer({ min: 1, max: 100 }));
const spanMs = fc.constantFrom(10, 100, 250, 1000, 3000, 60_000);
const onEdit = fc.constantFrom('as_is' as const, 'proportional' as const, 'reset' as const, 'additive' as const);
const name = fc.constant('l');

const greedy: fc.Arbitrary<LimitSpec> = fc.record({
  name,
  onEdit,
  algorithm: fc.constant('gcra' as const),
  capacity,
  refillTokens,
  refillIntervalMs: spanMs,
});
const steps = {
  name,
  onEdit,
  algorithm: fc.constant('token_bucket' as const),
  refill: fc.constant('interval' as const),
  capacity,
  refillTokens,
};
const unaligned: fc.Arbitrary<LimitSpec> = fc.oneof(greedy, fc.record({ ...steps, refillIntervalMs: spanMs }));
/** Windows that a request opens begin with a grant here, and with a spent token at the plain bucket: those are not compared. */
const lendable: fc.Arbitrary<LimitSpec> = fc.oneof(
  unaligned,
  fc.record({ ...steps, refillIntervalMs: spanMs, align: fc.constant('clock' as const) }),
  fc.record({ ...steps, capacity: fc.integer({ min: 2, max: 60 }), calendar: fc.constant('minute' as const) }),
  fc.record({
    name,
    onEdit,
    algorithm: fc.constant('fixed_window' as const),
    limit: capacity,
    windowMs: spanMs,
    start: fc.constant('clock' as const),
  }),
);

const us = (maxMs: number): fc.Arbitrary<number> =>
  fc.oneof(
    fc.constant(0),
    fc.integer({ min: 0, max: maxMs * 1000 }),
    fc.integer({ min: 0, max: maxMs }).map((ms) => ms * 1000),
  );
const lessee = fc.integer({ min: 0, max: 2 });
const some = fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 200 }));
const way = fc.oneof(
  { weight: 5, arbitrary: us(50) },
  { weight: 1, arbitrary: us(3000) },
  { weight: 1, arbitrary: fc.constant(undefined) },
);

const word: fc.Arbitrary<LeaseWord> = fc.record({
  lessee,
  wants: fc.oneof(fc.constant(0), some),
  returns: fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: some }),
  forUs: fc.oneof(
    fc.integer({ min: 1, max: 2000 }).map((ms) => ms * 1000),
    fc.constantFrom(1, MOST_LEASE_US),
  ),
  wayUs: way,
  wayBackUs: way,
  isDoubled: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
});
const operation: fc.Arbitrary<BucketOperation> = fc.oneof(
  fc.constant({ kind: 'reset' as const }),
  fc.record({ kind: fc.constant('adjust' as const), tokens: fc.constantFrom(-1000, -3, -1, 1, 4, 1000) }),
);

/** @param direction of the steps of the store's clock; 0 for none */
function cases(specs: fc.Arbitrary<LimitSpec>, direction: -1 | 0 | 1): fc.Arbitrary<[LimitSpec, LeaseEvent[]]> {
  const gapUs = fc.oneof({ weight: 5, arbitrary: us(100) }, { weight: 2, arbitrary: us(2000) }, { weight: 1, arbitrary: us(70_000) });
  return specs.chain((spec) => {
    const events = fc.oneof<fc.WeightedArbitrary<object>[]>(
      { weight: 6, arbitrary: fc.record({ takes: some }) },
      { weight: 8, arbitrary: fc.record({ lessee, spends: some }) },
      { weight: 8, arbitrary: word },
      { weight: 1, arbitrary: fc.record({ dies: lessee }) },
      // What has come back by itself is another question to a clock that has stepped.
      { weight: direction === 0 ? 1 : 0, arbitrary: fc.record({ edit: specs }) },
      { weight: 1, arbitrary: fc.record({ operation }) },
      { weight: direction === 0 ? 1 : 0, arbitrary: fc.record({ refunds: fc.nat({ max: 3 }) }) },
      { weight: direction === 0 ? 0 : 3, arbitrary: us(20_000).map((by) => ({ stepUs: direction * by })) },
    );
    const each = fc.tuple(gapUs, events).map(([gap, event]) => ({ gapUs: gap, ...event }) as LeaseEvent);
    return fc.tuple(fc.constant(spec), fc.array(each, { minLength: 10, maxLength: 60 }));
  });
}

/** Failures that random runs have found. */
const FOUND: [LimitSpec, LeaseEvent[]][] = [];

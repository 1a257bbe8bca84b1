import * as fc from 'fast-check';
import { anyLimitSpecs, arrivals, startedLimit, takeAlone, type Arrival } from '../../testing/index.js';
import { runs } from '../../testing/properties/runs.js';
import { bucketOf, missingAt, type Bucket, type BucketState } from './bucket.js';
import { stateOfStored } from './carry-over.js';
import type { Amount } from '../algorithms/amount.js';
import { ON_EDITS, type Limit, type LimitSpec, type OnEdit } from '../limits/limit.js';
import { editLimits } from '../limits/limit-edit.js';

/** Law 5: what an edit of the numbers does to live buckets, over random limits of all algorithms. */

const START_MS = 1_763_000_000_000;

/** Slots are held by requests and stay theirs: they are no tokens that an edit could carry over. */
const tokenSpecs = anyLimitSpecs().filter((spec) => spec.algorithm !== 'concurrency');

interface Live {
  readonly limit: Limit;
  readonly bucket: Bucket;
  readonly state: BucketState;
}

/** A bucket after some traffic, and the first whole millisecond after it. */
function used(spec: LimitSpec, requests: readonly Arrival[]): { live: Live; atMs: number } {
  const limit = startedLimit(spec, START_MS);
  const bucket = bucketOf(limit);
  let state: BucketState = bucket.start;
  let nowUs = START_MS * 1000;
  for (const { gapUs, cost } of requests) {
    nowUs += gapUs;
    state = takeAlone(bucket, state, cost, nowUs / 1000).state;
  }
  return { live: { limit, bucket, state }, atMs: Math.ceil(nowUs / 1000) };
}

/** The same bucket as the first request after an edit finds it. */
function edited({ limit, bucket, state }: Live, spec: LimitSpec, editAtMs: number, touchedAtMs = editAtMs): Live {
  const [next] = editLimits([limit], [spec], editAtMs) as [Limit];
  const after = bucketOf(next);
  return { limit: next, bucket: after, state: stateOfStored(after, { state, generation: bucket.generation }, touchedAtMs * 1000)! };
}

/** What an exact amount is in doubles. */
const inDoubles = ({ whole, part, of }: Amount): number => whole + part / of;
const tokens = ({ bucket, state }: Live, atMs: number): number => bucket.capacity - inDoubles(missingAt(bucket, state, atMs * 1000));

/** The tokens that a bucket has to give after an edit, as plainly as it can be said. */
function keptTokens(onEdit: OnEdit, available: number, capacity: number, newCapacity: number): number {
  switch (onEdit) {
    case 'as_is':
      return Math.min(available, newCapacity);
    case 'proportional':
      // Of a capacity of 0 no share can be told: as_is.
      return Math.min(capacity > 0 ? (available * newCapacity) / capacity : available, newCapacity);
    case 'reset':
      return newCapacity;
    case 'additive':
      return Math.min(Math.min(available, newCapacity) + Math.max(0, newCapacity - capacity), newCapacity);
  }
}
const most = ({ bucket }: Live): number => bucket.capacity;

/** Of floating point, in tokens. */
const ROUNDING = 1e-6;

const cases = fc
  .tuple(tokenSpecs, tokenSpecs, fc.constantFrom(...ON_EDITS))
  .chain(([spec, to, onEdit]) =>
    fc.tuple(fc.constant(spec), fc.constant({ ...to, onEdit }), arrivals(spec, { maxLength: 20 }), fc.integer({ min: 0, max: 100_000 })),
  );

test('an edit leaves the tokens that onEdit says, or loses less than one', () => {
  const seen = new Map<OnEdit, number>();
  fc.assert(
    fc.property(cases, ([spec, to, requests, laterMs]) => {
      const { live, atMs } = used(spec, requests);
      const editAtMs = atMs + laterMs;
      const after = edited(live, to, editAtMs);
      if (after.bucket.generation === live.bucket.generation) return;
      const kept = keptTokens(to.onEdit, tokens(live, editAtMs), most(live), most(after));
      expect(tokens(after, editAtMs)).toBeLessThanOrEqual(kept + ROUNDING);
      expect(tokens(after, editAtMs)).toBeGreaterThan(kept - 1 - ROUNDING);
      expect(tokens(after, editAtMs)).toBeLessThanOrEqual(most(after));
      seen.set(to.onEdit, (seen.get(to.onEdit) ?? 0) + 1);
    }),
    runs(400),
  );
  expect([...seen.keys()].sort()).toEqual([...ON_EDITS].sort());
});

test.each(['as_is', 'proportional'] as const)(
  'no row of edits (%s) hands out a token: back under the same numbers there are no more than before',
  (onEdit) => {
    fc.assert(
      fc.property(
        tokenSpecs.chain((spec) =>
          fc.tuple(fc.constant(spec), arrivals(spec, { maxLength: 20 }), fc.array(tokenSpecs, { minLength: 1, maxLength: 4 })),
        ),
        ([spec, requests, others]) => {
          const { live, atMs } = used(spec, requests);
          let now = live;
          for (const other of [...others, spec]) now = edited(now, { ...other, onEdit }, atMs);
          const whole = (each: Live): number => Math.floor(tokens(each, atMs) + ROUNDING);
          expect(whole(now)).toBeLessThanOrEqual(whole(live));
        },
      ),
      runs(250),
    );
  },
);

test('an edit is applied at its own time, however late the bucket is touched again', () => {
  fc.assert(
    fc.property(cases, fc.integer({ min: 0, max: 10_000_000 }), ([spec, to, requests, laterMs], idleMs) => {
      const { live, atMs } = used(spec, requests);
      const editAtMs = atMs + laterMs;
      const touchedAtMs = editAtMs + idleMs;
      const late = edited(live, to, editAtMs, touchedAtMs);
      const early = edited(live, to, editAtMs);
      expect(takeAlone(late.bucket, late.state, 1, touchedAtMs).decision).toEqual(
        takeAlone(early.bucket, early.state, 1, touchedAtMs).decision,
      );
    }),
    runs(250),
  );
});

test('a missing bucket carries over what one would that nobody touched', () => {
  fc.assert(
    fc.property(tokenSpecs, tokenSpecs, fc.constantFrom(...ON_EDITS), fc.integer({ min: 0, max: 100_000 }), (spec, to, onEdit, laterMs) => {
      const { live } = used(spec, []);
      const editAtMs = START_MS + laterMs;
      const touched = edited(live, { ...to, onEdit }, editAtMs);
      if (touched.bucket.generation === live.bucket.generation) return;
      const missing = tokens({ ...touched, state: touched.bucket.start }, editAtMs);
      const kept = keptTokens(onEdit, tokens(live, editAtMs), most(live), most(touched));
      expect(missing).toBeLessThanOrEqual(kept + ROUNDING);
      expect(missing).toBeGreaterThan(kept - 1 - ROUNDING);
    }),
    runs(150),
  );
});

test.each(ON_EDITS)('to a limit of 0 and back (%s): nothing while it lasts, and afterwards only what reset and additive give', (onEdit) => {
  fc.assert(
    fc.property(tokenSpecs, (spec) => {
      const { live } = used(spec, []);
      const nobody = {
        ...spec,
        ...('capacity' in spec ? { capacity: 0 } : { limit: 0 }),
        initialTokens: undefined,
        onEdit,
      } as unknown as LimitSpec;
      const none = edited(live, nobody, START_MS);
      expect(tokens(none, START_MS)).toBe(0);
      expect(takeAlone(none.bucket, none.state, 1, START_MS).decision).toMatchObject({
        allowed: false,
        retryAfterMs: 'never',
        remaining: 0,
      });
      const again = edited(none, { ...spec, onEdit }, START_MS);
      const kept = onEdit === 'as_is' || onEdit === 'proportional' ? 0 : most(again);
      expect(tokens(again, START_MS)).toBeLessThanOrEqual(kept + ROUNDING);
      expect(tokens(again, START_MS)).toBeGreaterThan(kept - 1 - ROUNDING);
      // A bucket that was never touched.
      expect(again.limit.since.tokens).toBe(kept);
    }),
    runs(100),
  );
});

test('slots stay with their requests, whatever onEdit says', () => {
  const spec = (limit: number, onEdit: OnEdit): LimitSpec => ({
    name: 'at once',
    algorithm: 'concurrency',
    limit,
    slotTimeoutMs: 60_000,
    onEdit,
  });
  for (const onEdit of ON_EDITS) {
    const { live } = used(spec(3, 'as_is'), [{ gapUs: 0, cost: 2 }]);
    expect(tokens(edited(live, spec(10, onEdit), START_MS), START_MS)).toBe(8);
    expect(tokens(edited(live, spec(1, onEdit), START_MS), START_MS)).toBe(-1);
  }
});

test('a bucket of numbers newer than those at hand is not touched', () => {
  const { live } = used({ name: 'l', algorithm: 'gcra', capacity: 5, refillTokens: 1, refillIntervalMs: 1000 }, []);
  expect(stateOfStored(live.bucket, { state: live.state, generation: 1 }, START_MS * 1000)).toBeUndefined();
});

import * as fc from 'fast-check';
import { arrivals, bucketLeaving, describeGolden, limitSpecs, ModelBucket, startedLimit, stepMs, takeAlone } from '../../testing/index.js';
import { runs } from '../../testing/properties/runs.js';
import type { Windows } from '../algorithms/windows.js';
import { bucketOf, type BucketState } from './bucket.js';

describeGolden(() => {
  let state: BucketState | undefined;
  return (limit, cost, atMs, spare, percent) => {
    const taken = takeAlone(bucketLeaving(limit, percent), state, cost, atMs, { spare });
    state = taken.state;
    return taken.decision;
  };
});

function boundariesBetween({ around, lengthUs }: Windows, fromUs: number, toUs: number): number {
  let count = 0;
  if (lengthUs > 0) return Math.floor(toUs / lengthUs) - Math.floor(fromUs / lengthUs);
  for (let { startUs } = around(toUs); startUs > fromUs; { startUs } = around(startUs - 1)) count++;
  return count;
}

describe('against a plain model, over random limits and arrivals', () => {
  const cases = limitSpecs().chain((spec) => fc.tuple(fc.constant(spec), arrivals(spec), fc.integer({ min: 0, max: 1_800_000_000_000 })));

  test('decides the same in every field', () => {
    fc.assert(
      fc.property(cases, ([spec, requests, startMs]) => {
        const bucket = bucketOf(startedLimit(spec, startMs));
        const model = new ModelBucket(spec, startMs * 1000);
        let state: BucketState | undefined;
        let nowUs = startMs * 1000;
        for (const { gapUs, cost } of requests) {
          nowUs += gapUs;
          const taken = takeAlone(bucket, state, cost, nowUs / 1000);
          expect(taken.decision).toEqual(model.take(cost, nowUs));
          state = taken.state;
        }
      }),
      runs(300),
    );
  });

  test('decides the same where some requests have to leave a share to others', () => {
    const shared = fc.tuple(cases, fc.integer({ min: 1, max: 99 }), fc.array(fc.boolean(), { minLength: 60, maxLength: 60 }));
    fc.assert(
      fc.property(shared, ([[spec, requests, startMs], percent, kept]) => {
        const limit = startedLimit(spec, startMs);
        const model = new ModelBucket(spec, startMs * 1000);
        let state: BucketState | undefined;
        let nowUs = startMs * 1000;
        requests.forEach(({ gapUs, cost }, i) => {
          nowUs += gapUs;
          const bucket = bucketLeaving(limit, kept[i] ? 0 : percent);
          const taken = takeAlone(bucket, state, cost, nowUs / 1000);
          expect(taken.decision).toEqual(model.take(cost, nowUs, bucket.withheld));
          state = taken.state;
        });
      }),
      runs(100),
    );
  });

  test('law 1: in every interval, admitted <= capacity + rate * d', () => {
    fc.assert(
      fc.property(cases, ([spec, requests]) => {
        const { capacity, initialTokens: _none, ...numbers } = spec;
        const bucket = bucketOf(startedLimit({ ...numbers, capacity }, 0));
        const admitted: { atUs: number; cost: number; boundaries: number }[] = [];
        let boundaries = 0;
        let state: BucketState | undefined;
        let nowUs = 0;
        for (const { gapUs, cost } of requests) {
          if (bucket.kind === 'interval' && bucket.windows) boundaries += boundariesBetween(bucket.windows, nowUs, nowUs + gapUs);
          nowUs += gapUs;
          const taken = takeAlone(bucket, state, cost, nowUs / 1000);
          state = taken.state;
          if (taken.decision.allowed) admitted.push({ atUs: nowUs, cost, boundaries });
        }
        const intervalUs = BigInt(stepMs(spec) * 1000);
        for (let from = 0; from < admitted.length; from++) {
          let sum = 0n;
          for (const { atUs, cost, boundaries } of admitted.slice(from)) {
            sum += BigInt(cost);
            if (bucket.kind === 'interval' && bucket.windows !== undefined) {
              expect(sum).toBeLessThanOrEqual(
                BigInt(capacity) + BigInt(spec.refillTokens) * BigInt(boundaries - admitted[from]!.boundaries),
              );
              continue;
            }
            const gapUs = BigInt(atUs - admitted[from]!.atUs);
            // In whole steps, one more step may fall into an interval than its length says.
            const extra = spec.refill === 'interval' ? intervalUs : 0n;
            expect(sum * intervalUs <= BigInt(capacity) * intervalUs + BigInt(spec.refillTokens) * (gapUs + extra)).toBe(true);
          }
        }
      }),
      runs(100),
    );
  });

  test('law 2: a refused request changes nothing', () => {
    fc.assert(
      fc.property(cases, ([spec, requests]) => {
        const bucket = bucketOf(startedLimit(spec, 0));
        let state: BucketState | undefined;
        let nowUs = 0;
        for (const { gapUs, cost } of requests) {
          nowUs += gapUs;
          const before = state ?? bucket.start;
          const taken = takeAlone(bucket, state, cost, nowUs / 1000);
          if (!taken.decision.allowed) expect(taken.state).toBe(before);
          state = taken.state;
        }
      }),
      runs(100),
    );
  });

  test('law 3: after its time to full a bucket cannot be told from a missing one', () => {
    fc.assert(
      fc.property(cases, ([spec, requests]) => {
        const bucket = bucketOf(startedLimit(spec, 0));
        let state: BucketState | undefined;
        let nowUs = 0;
        let resetAfterMs = 0;
        for (const { gapUs, cost } of requests) {
          nowUs += gapUs;
          const taken = takeAlone(bucket, state, cost, nowUs / 1000);
          state = taken.state;
          resetAfterMs = taken.decision.resetAfterMs;
        }
        const surplusMs = Math.ceil((Math.max(0, (spec.initialTokens ?? 0) - spec.capacity) * stepMs(spec)) / spec.refillTokens);
        // A day of 25 hours, a month of 31 days.
        const laterMs = nowUs / 1000 + resetAfterMs + surplusMs + (spec.refill === 'interval' ? 2 * stepMs(spec) : 0);
        expect(takeAlone(bucket, state, 1, laterMs).decision).toEqual(takeAlone(bucket, undefined, 1, laterMs).decision);
      }),
      runs(100),
    );
  });
});

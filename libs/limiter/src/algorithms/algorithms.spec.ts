import * as fc from 'fast-check';
import { anyLimitSpecs, arrivals, limitSpecs, startedLimit, type Arrival } from '../../testing/index.js';
import { bucketOf, take, type Bucket, type BucketState } from '../bucket.js';
import type { Decision } from '../decision.js';
import { excessOf } from '../limit.js';
import { quotaWindowMs } from '../pace.js';

/** What every algorithm promises, over random limits and arrivals. */

const START_US = 1_763_000_000_000_000;

const cases = anyLimitSpecs().chain((spec) => fc.tuple(fc.constant(spec), arrivals(spec, { maxLength: 40 })));

/** Takes one after the other, and tells of each. */
function replay(
  bucket: Bucket,
  requests: readonly Arrival[],
  see: (seen: { decision: Decision; before: BucketState; after: BucketState; cost: number; nowUs: number }) => void = () => {},
): { state: BucketState; nowUs: number } {
  let state: BucketState = bucket.start;
  let nowUs = START_US;
  for (const { gapUs, cost } of requests) {
    nowUs += gapUs;
    const taken = take(bucket, state, cost, nowUs / 1000);
    see({ decision: taken.decision, before: state, after: taken.state, cost, nowUs });
    state = taken.state;
  }
  return { state, nowUs };
}

test('law 2: what is refused changes nothing, and says how much is left', () => {
  fc.assert(
    fc.property(cases, ([spec, requests]) => {
      replay(bucketOf(startedLimit(spec, START_US / 1000)), requests, ({ decision, before, after, cost }) => {
        expect(decision.remaining).toBeGreaterThanOrEqual(0);
        if (decision.allowed) return;
        expect(after).toBe(before);
        expect(decision.remaining).toBeLessThan(cost);
      });
    }),
    { numRuns: 500 },
  );
});

test('whoever waits as long as it says passes, and a millisecond less is not enough', () => {
  fc.assert(
    fc.property(cases, ([spec, requests]) => {
      const bucket = bucketOf(startedLimit(spec, START_US / 1000));
      replay(bucket, requests, ({ decision: { allowed, retryAfterMs }, after, cost, nowUs }) => {
        if (allowed || retryAfterMs === null) return;
        expect(retryAfterMs).toBeGreaterThan(0);
        expect(take(bucket, after, cost, nowUs / 1000 + retryAfterMs).decision.allowed).toBe(true);
        if (retryAfterMs > 1) expect(take(bucket, after, cost, nowUs / 1000 + retryAfterMs - 1).decision.allowed).toBe(false);
      });
    }),
    { numRuns: 500 },
  );
});

test('law 3: after its time to full a bucket cannot be told from a missing one', () => {
  fc.assert(
    fc.property(cases, ([spec, requests]) => {
      const bucket = bucketOf(startedLimit(spec, START_US / 1000));
      const { state, nowUs } = replay(bucket, requests);
      const { resetAfterMs } = take(bucket, state, 0, nowUs / 1000).decision;
      // A launch surplus drains, and steps fall where they fall: neither is part of the time to full.
      const extraMs = spec.algorithm === 'token_bucket' ? 20_000 * quotaWindowMs({ ...spec, capacity: 1 }) + spec.refillIntervalMs : 0;
      const laterMs = nowUs / 1000 + resetAfterMs + extraMs;
      expect(take(bucket, state, 1, laterMs).decision).toEqual(take(bucket, undefined, 1, laterMs).decision);
    }),
    { numRuns: 500 },
  );
});

test('gcra decides as the greedy token bucket does', () => {
  fc.assert(
    fc.property(limitSpecs(fc.constant('greedy')).chain((spec) => fc.tuple(fc.constant(spec), arrivals(spec))), ([spec, requests]) => {
      const { initialTokens: _none, ...numbers } = spec;
      const { refill: _refill, ...cells } = numbers;
      const decisions = (bucket: Bucket): Decision[] => {
        const seen: Decision[] = [];
        replay(bucket, requests, ({ decision }) => seen.push(decision));
        return seen;
      };
      expect(decisions(bucketOf(startedLimit({ ...cells, algorithm: 'gcra' }, START_US / 1000)))).toEqual(
        decisions(bucketOf(startedLimit(numbers, START_US / 1000))),
      );
    }),
    { numRuns: 200 },
  );
});

describe('how many pass', () => {
  /** The most that passed in any interval of a length that ends with a request. */
  function mostWithin(spec: Parameters<typeof startedLimit>[0], requests: readonly Arrival[], lengthUs: number): number {
    const passed: { atUs: number; cost: number }[] = [];
    replay(bucketOf(startedLimit(spec, START_US / 1000)), requests, ({ decision, cost, nowUs }) => {
      if (decision.allowed) passed.push({ atUs: nowUs, cost });
    });
    return Math.max(0, ...passed.map(({ atUs }) => passed.filter((other) => other.atUs <= atUs && other.atUs > atUs - lengthUs).reduce((sum, { cost }) => sum + cost, 0)));
  }
  const within = (algorithms: readonly string[], most: number) =>
    fc.assert(
      fc.property(cases, ([spec, requests]) => {
        if (!algorithms.includes(spec.algorithm) || !('windowMs' in spec) || spec.windowMs === undefined) return;
        expect(mostWithin(spec, requests, spec.windowMs * 1000)).toBeLessThanOrEqual(most * (spec.limit + excessOf(spec)));
      }),
      { numRuns: 1500 },
    );

  test('sliding log: never more than the limit in any window', () => within(['sliding_log'], 1));
  test('fixed window: never more than twice the limit in any window', () => within(['fixed_window'], 2));
  test('sliding counter: never more than twice the limit in any window', () => within(['sliding_counter'], 2));
});

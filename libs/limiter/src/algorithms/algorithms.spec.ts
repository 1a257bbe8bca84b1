import * as fc from 'fast-check';
import { anyLimitSpecs, arrivals, greedySpecs, startedLimit, stepMs, takeAlone, type Arrival } from '../../testing/index.js';
import { runs } from '../../testing/properties/runs.js';
import { allows, bucketOf, levelAt, refunded, stateAfter, type Bucket, type BucketLevel, type BucketState } from '../buckets/bucket.js';
import type { Decision } from '../buckets/decision.js';
import type { PastTake } from './algorithm.js';
import { excessOf, MAX_TIME_TO_FULL_MS, type LimitSpec } from '../limits/limit.js';

/** What every algorithm promises, over random limits and arrivals. */

const START_US = 1_763_000_000_000_000;

const cases = anyLimitSpecs().chain((spec) => fc.tuple(fc.constant(spec), arrivals(spec, { maxLength: 40 })));

/** Failures that random runs have found. */
const FOUND_QUEUE_OF_FRACTIONS: [LimitSpec, Arrival[]] = [
  {
    name: 'found',
    algorithm: 'leaky_bucket',
    capacity: 4564,
    drainTokens: 2784,
    drainIntervalMs: 2_678_400_000,
    onLimit: { delay: { maxWaitMs: 15_903 } },
  },
  [
    { gapUs: 0, cost: 2530 },
    { gapUs: 1_769_430_758, cost: 1 },
    { gapUs: 0, cost: 1 },
  ],
];
const FOUND_REFUNDS_IN_TURN: [LimitSpec, Arrival[], number[]] = [
  { name: 'found', algorithm: 'gcra', capacity: 5, refillTokens: 1, refillIntervalMs: 11 },
  [
    { gapUs: 0, cost: 1 },
    { gapUs: 0, cost: 1 },
    { gapUs: 6388, cost: 1 },
    { gapUs: 15_612, cost: 1 },
  ],
  [0, 0, 2, 3],
];

const FOUND_REFUND_OF_SURPLUS: [LimitSpec, Arrival[], number[]] = [
  {
    name: 'found',
    algorithm: 'token_bucket',
    capacity: 11,
    refillTokens: 7,
    refillIntervalMs: 60_000,
    refill: 'interval',
    initialTokens: 4088,
  },
  [
    { gapUs: 36_687_070, cost: 8 },
    { gapUs: 4_782_958, cost: 0 },
    { gapUs: 16_542_415, cost: 1 },
    { gapUs: 1_987_557, cost: 1 },
    { gapUs: 0, cost: 0 },
  ],
  [0, 0, 0, 1, 0],
];

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
    const taken = takeAlone(bucket, state, cost, nowUs / 1000);
    see({ decision: taken.decision, before: state, after: taken.state, cost, nowUs });
    state = taken.state;
  }
  return { state, nowUs };
}

test('law 2: a refused request changes nothing, and is told how much is left', () => {
  fc.assert(
    fc.property(cases, ([spec, requests]) => {
      replay(bucketOf(startedLimit(spec, START_US / 1000)), requests, ({ decision, before, after, cost }) => {
        expect(decision.remaining).toBeGreaterThanOrEqual(0);
        if (decision.allowed) return;
        expect(after).toBe(before);
        expect(decision.remaining).toBeLessThan(cost);
      });
    }),
    runs(200),
  );
});

test('a request passes after the wait that a refusal names, and not a millisecond earlier', () => {
  fc.assert(
    fc.property(cases, ([spec, requests]) => {
      const bucket = bucketOf(startedLimit(spec, START_US / 1000));
      replay(bucket, requests, ({ decision: { allowed, retryAfterMs }, after, cost, nowUs }) => {
        if (allowed || retryAfterMs === 'never') return;
        expect(retryAfterMs).toBeGreaterThan(0);
        expect(takeAlone(bucket, after, cost, nowUs / 1000 + retryAfterMs).decision.allowed).toBe(true);
        if (retryAfterMs > 1) expect(takeAlone(bucket, after, cost, nowUs / 1000 + retryAfterMs - 1).decision.allowed).toBe(false);
      });
    }),
    { ...runs(200), examples: [[FOUND_QUEUE_OF_FRACTIONS]] },
  );
});

test('law 3: after its time to full a bucket cannot be told from a missing one', () => {
  fc.assert(
    fc.property(cases, ([spec, requests]) => {
      const bucket = bucketOf(startedLimit(spec, START_US / 1000));
      const { state, nowUs } = replay(bucket, requests);
      const { resetAfterMs } = takeAlone(bucket, state, 0, nowUs / 1000).decision;
      // A launch surplus drains, and steps fall where they fall: neither is part of the time to full.
      const extraMs = spec.algorithm === 'token_bucket' ? MAX_TIME_TO_FULL_MS + stepMs(spec) : 0;
      const laterMs = nowUs / 1000 + resetAfterMs + extraMs;
      expect(takeAlone(bucket, state, 1, laterMs).decision).toEqual(takeAlone(bucket, undefined, 1, laterMs).decision);
    }),
    runs(200),
  );
});

describe('a refund', () => {
  interface Passed {
    readonly past: PastTake<BucketLevel>;
    given: boolean;
  }

  /** Takes and gives back in turn, and tells of each refund. */
  function replayWithRefunds(
    bucket: Bucket,
    requests: readonly Arrival[],
    refunds: readonly number[],
    see: (seen: { state: BucketState; passed: readonly Passed[]; nowUs: number; given: Passed | undefined }) => void,
  ): void {
    const passed: Passed[] = [];
    let state: BucketState = bucket.start;
    let nowUs = START_US;
    requests.forEach(({ gapUs, cost }, i) => {
      nowUs += gapUs;
      const level = levelAt(bucket, state, nowUs, cost);
      if (cost > 0 && allows(bucket, level, cost)) {
        state = stateAfter(bucket, state, level, cost, nowUs, i + 1);
        passed.push({ past: { level, cost, takenAtUs: nowUs, holder: i + 1 }, given: false });
      }
      const given = passed[refunds[i]! - 1];
      if (given && !given.given) {
        const back = refunded(bucket, state, given.past, nowUs);
        given.given = back !== state;
        state = back;
      }
      see({ state, passed, nowUs, given });
    });
  }

  const left = (bucket: Bucket, state: BucketState, nowUs: number): number => takeAlone(bucket, state, 0, nowUs / 1000).decision.remaining;
  const withRefunds = anyLimitSpecs().chain((spec) =>
    fc.tuple(fc.constant(spec), arrivals(spec, { maxLength: 30 }), fc.array(fc.nat({ max: 20 }), { minLength: 30, maxLength: 30 })),
  );

  test('never creates tokens: nobody has more than if the request had not come', () => {
    let gaveBack = 0;
    fc.assert(
      fc.property(withRefunds, ([spec, requests, refunds]) => {
        const bucket = bucketOf(startedLimit(spec, START_US / 1000));
        replayWithRefunds(bucket, requests, refunds, ({ state, passed, nowUs, given }) => {
          let without: BucketState = bucket.start;
          for (const {
            past: { cost, takenAtUs, holder },
            given: wasGiven,
          } of passed) {
            if (!wasGiven) without = stateAfter(bucket, without, levelAt(bucket, without, takenAtUs, cost), cost, takenAtUs, holder);
          }
          expect(left(bucket, state, nowUs)).toBeLessThanOrEqual(left(bucket, without, nowUs));
          if (given?.given) gaveBack++;
        });
      }),
      { ...runs(600), examples: [[FOUND_REFUNDS_IN_TURN], [FOUND_REFUND_OF_SURPLUS]] },
    );
    expect(gaveBack).toBeGreaterThan(300);
  });

  test('at once, it leaves the bucket as it was', () => {
    fc.assert(
      fc.property(cases, fc.integer({ min: 1, max: 100 }), ([spec, requests], cost) => {
        const bucket = bucketOf(startedLimit(spec, START_US / 1000));
        // A launch surplus that is spent stays spent; and who has opened a window for others does not close it.
        if ((bucket.kind === 'greedy' && bucket.surplusUs < 0) || (bucket.kind === 'interval' && bucket.start.tokens > bucket.capacity))
          return;
        if (bucket.kind === 'fixed_window' && bucket.startsWith === 'first_request') return;
        const { state, nowUs } = replay(bucket, requests);
        const level = levelAt(bucket, state, nowUs, cost);
        if (!allows(bucket, level, cost)) return;
        const after = stateAfter(bucket, state, level, cost, nowUs, 99);
        const back = refunded(bucket, after, { level, cost, takenAtUs: nowUs, holder: 99 }, nowUs);
        expect(levelAt(bucket, back, nowUs, 1)).toEqual(levelAt(bucket, state, nowUs, 1));
      }),
      runs(600),
    );
  });
});

test('gcra decides as the greedy token bucket does', () => {
  fc.assert(
    fc.property(
      greedySpecs().chain((spec) => fc.tuple(fc.constant(spec), arrivals(spec))),
      ([spec, requests]) => {
        const { initialTokens: _none, ...numbers } = spec;
        const { refill: _refill, ...cells } = numbers;
        const decisions = (bucket: Bucket): Decision[] => {
          const seen: Decision[] = [];
          replay(bucket, requests, ({ decision }) => seen.push(decision));
          return seen;
        };
        expect(
          decisions(bucketOf(startedLimit({ ...cells, refillIntervalMs: cells.refillIntervalMs!, algorithm: 'gcra' }, START_US / 1000))),
        ).toEqual(decisions(bucketOf(startedLimit(numbers, START_US / 1000))));
      },
    ),
    runs(100),
  );
});

describe('how many pass', () => {
  /** The most that passed in any interval of a length that ends with a request. */
  function mostWithin(spec: Parameters<typeof startedLimit>[0], requests: readonly Arrival[], lengthUs: number): number {
    const passed: { atUs: number; cost: number }[] = [];
    replay(bucketOf(startedLimit(spec, START_US / 1000)), requests, ({ decision, cost, nowUs }) => {
      if (decision.allowed) passed.push({ atUs: nowUs, cost });
    });
    return Math.max(
      0,
      ...passed.map(({ atUs }) =>
        passed.filter((other) => other.atUs <= atUs && other.atUs > atUs - lengthUs).reduce((sum, { cost }) => sum + cost, 0),
      ),
    );
  }
  const within = (algorithms: readonly string[], most: number) =>
    fc.assert(
      fc.property(cases, ([spec, requests]) => {
        if (!algorithms.includes(spec.algorithm) || !('windowMs' in spec) || spec.windowMs === undefined) return;
        expect(mostWithin(spec, requests, spec.windowMs * 1000)).toBeLessThanOrEqual(most * (spec.limit + excessOf(spec)));
      }),
      runs(500),
    );

  test('sliding log: never more than the limit in any window', () => within(['sliding_log'], 1));
  test('fixed window: never more than twice the limit in any window', () => within(['fixed_window'], 2));
  test('sliding counter: never more than twice the limit in any window', () => within(['sliding_counter'], 2));
});

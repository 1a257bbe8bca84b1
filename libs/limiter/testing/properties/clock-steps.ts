import * as fc from 'fast-check';
import {
  bucketOf,
  capacityOf,
  excessOf,
  quotaWindowMs,
  type FixedWindowBucket,
  type Limit,
  type LimitSpec,
  type TokenBucketSpec,
} from '../../src/index.js';
import { anyLimitSpecs, arrivals, startedLimit, stepMs, type Arrival } from '../arbitraries.js';
import type { CreateEngine } from '../engine.js';
import { runs } from './runs.js';

/**
 * What a clock that steps may do to a bucket, whatever the algorithm: no more passes than the time that went forward refills, steps
 * included; and after the last step nothing is locked for longer than a bucket takes to fill.
 */
export function describeClockSteps(createEngine: CreateEngine, usualRuns: number): void {
  describe('a clock that steps, by microseconds or years, both ways', () => {
    test('brings no more than what goes forward refills', async () => {
      let passed = 0;
      let stepsBack = 0;
      await fc.assert(
        fc.asyncProperty(cases, async ([spec, requests]) => {
          const limit = startedLimit(spec, START_US / 1000);
          const engine = await createEngine();
          const admitted: Admitted[] = [];
          let nowUs = START_US;
          let forwardUs = 0;
          let crossings = 0;
          for (const { gapUs, cost } of requests) {
            const beforeUs = nowUs;
            nowUs += gapUs;
            forwardUs += Math.max(0, gapUs);
            if (isCrossing(limit, beforeUs, nowUs)) crossings++;
            if (gapUs < 0) stepsBack++;
            const decision = await engine(limit, cost, nowUs);
            expect(decision.remaining).toBeGreaterThanOrEqual(0);
            if (decision.allowed && cost > 0) admitted.push({ cost, forwardUs, crossings });
          }
          passed += admitted.length;
          expect(tooMany(spec, admitted)).toEqual([]);
        }),
        { ...runs(usualRuns), examples: FOUND.map((found) => [found] as const) as never },
      );
      expect(passed).toBeGreaterThan(usualRuns / 2);
      expect(stepsBack).toBeGreaterThan(usualRuns / 2);
    });

    test('locks nothing for longer than a bucket takes to fill, from when somebody looks', async () => {
      await fc.assert(
        fc.asyncProperty(cases, async ([spec, requests]) => {
          const limit = startedLimit(spec, START_US / 1000);
          const engine = await createEngine();
          let nowUs = START_US;
          for (const { gapUs, cost } of requests) {
            nowUs += gapUs;
            await engine(limit, cost, nowUs);
          }
          // The last step leads to before all that is known, an hour or ten years.
          nowUs -= requests.length % 2 === 0 ? HOUR_US : 10 * YEAR_US;
          const { retryAfterMs } = await engine(limit, 1, nowUs);
          const fullUs = nowUs + timeToFullUs(spec);
          if (capacityOf(spec) === 0) return;
          if (retryAfterMs !== 'never') expect(retryAfterMs).toBeLessThanOrEqual(Math.ceil(timeToFullUs(spec) / 1000));
          expect(await engine(limit, capacityOf(spec), fullUs)).toMatchObject({ allowed: true });
        }),
        runs(usualRuns),
      );
    });

    test('whoever waits as long as it says passes', async () => {
      await fc.assert(
        fc.asyncProperty(cases, async ([spec, requests]) => {
          const limit = startedLimit(spec, START_US / 1000);
          const engine = await createEngine();
          let nowUs = START_US;
          for (const { gapUs, cost } of requests) {
            nowUs += gapUs;
            const { allowed, retryAfterMs } = await engine(limit, cost, nowUs);
            if (allowed || retryAfterMs === 'never') continue;
            nowUs += retryAfterMs * 1000;
            expect(await engine(limit, cost, nowUs)).toMatchObject({ allowed: true });
          }
        }),
        runs(usualRuns),
      );
    });
  });
}

interface Admitted {
  readonly cost: number;
  /** How far the clock had gone forward by then, in all. */
  readonly forwardUs: number;
  /** How often it had gone forward into another window. */
  readonly crossings: number;
}

/** Stretches, from one request that passed to another, in which more passed than may. */
function tooMany(spec: LimitSpec, admitted: readonly Admitted[]): { from: number; to: number; sum: number }[] {
  const found: { from: number; to: number; sum: number }[] = [];
  admitted.forEach((first, from) => {
    let sum = 0;
    for (let to = from; to < admitted.length; to++) {
      const last = admitted[to]!;
      sum += last.cost;
      if (BigInt(sum) > most(spec, last.forwardUs - first.forwardUs, last.crossings - first.crossings)) found.push({ from, to, sum });
    }
  });
  return found;
}

const HOUR_US = 3_600_000_000;
const YEAR_US = 365 * 86_400_000_000;
const START_US = 1_763_000_000_123_456;

/** A launch surplus, and the wait of a queue, are promises of their own. */
const specs = anyLimitSpecs().filter(
  (spec) => !('initialTokens' in spec && (spec.initialTokens ?? 0) > capacityOf(spec)) && !('onLimit' in spec),
);

const stepUs = fc.oneof(
  fc.integer({ min: -3, max: 3 }),
  fc.integer({ min: -2_000_000, max: 2_000_000 }),
  fc.constantFrom(-HOUR_US, HOUR_US, -YEAR_US, YEAR_US, -10 * YEAR_US, 10 * YEAR_US),
);

/** Requests at the pace of the limit, with steps of the clock between them. */
const cases: fc.Arbitrary<[LimitSpec, Arrival[]]> = specs.chain((spec) =>
  fc.tuple(
    fc.constant(spec),
    fc.array(
      fc.oneof(
        { weight: 3, arbitrary: arrivals(spec, { maxLength: 1, stepsBack: true }).map(([arrival]) => arrival!) },
        { weight: 1, arbitrary: fc.record({ gapUs: stepUs, cost: fc.constantFrom(0, 1, capacityOf(spec)) }) },
      ),
      { minLength: 1, maxLength: 25 },
    ),
  ),
);

/** Failures that random runs have found. */
const FOUND: [LimitSpec, Arrival[]][] = [];

function isCrossing(limit: Limit, beforeUs: number, nowUs: number): boolean {
  const bucket = bucketOf(limit);
  return (
    bucket.kind === 'fixed_window' &&
    bucket.startsWith === 'clock' &&
    nowUs > beforeUs &&
    windowOf(bucket, beforeUs) !== windowOf(bucket, nowUs)
  );
}

const windowOf = ({ windows }: FixedWindowBucket, atUs: number): number => windows.around(atUs).startUs;

/** The shortest that the windows of a calendar are: clocks change by an hour, and on Lord Howe Island by half of one. */
const SHORTEST_MS = {
  minute: 60_000,
  hour: 1_800_000,
  day: 82_800_000,
  week: 601_200_000,
  month: 2_415_600_000,
  year: 31_532_400_000,
} as const;

/** By how much clocks change, dates left out or repeated included. */
const CHANGES_US = 26 * HOUR_US;

/** An aligned step that the clock has stepped back behind is not counted again: the one after it is the first. */
const stepsAgain = ({ align, calendar }: TokenBucketSpec): number => (align === 'clock' || calendar !== undefined ? 1 : 0);

/** The most that may pass while the clock goes forward so far. */
function most(spec: LimitSpec, forwardUs: number, crossings: number): bigint {
  const capacity = BigInt(capacityOf(spec) + excessOf(spec));
  const forward = BigInt(forwardUs);
  switch (spec.algorithm) {
    case 'token_bucket':
      return spec.refill === 'interval'
        ? capacity + BigInt(spec.refillTokens) * (forward / BigInt((spec.refillIntervalMs ?? SHORTEST_MS[spec.calendar!]) * 1000) + 1n)
        : capacity + (BigInt(spec.refillTokens) * forward) / BigInt(spec.refillIntervalMs! * 1000);
    case 'gcra':
      return capacity + (BigInt(spec.refillTokens) * forward) / BigInt(spec.refillIntervalMs * 1000);
    case 'leaky_bucket':
      return capacity + (BigInt(spec.drainTokens) * forward) / BigInt(spec.drainIntervalMs * 1000);
    case 'fixed_window':
      return spec.start === 'clock' ? capacity * BigInt(crossings + 1) : capacity * (forward / BigInt(spec.windowMs! * 1000) + 2n);
    case 'sliding_log':
      return capacity * (forward / BigInt(spec.windowMs * 1000) + 1n);
    case 'sliding_counter':
      return 2n * capacity * (forward / BigInt(spec.windowMs * 1000) + 1n);
    case 'concurrency':
      // Slots time out; nothing refills.
      return capacity * (forward / BigInt(spec.slotTimeoutMs * 1000) + 1n);
  }
}

function timeToFullUs(spec: LimitSpec): number {
  const soft = (capacityOf(spec) + excessOf(spec)) / capacityOf(spec);
  switch (spec.algorithm) {
    case 'token_bucket':
      return spec.refill === 'interval'
        ? (Math.ceil((capacityOf(spec) + excessOf(spec)) / spec.refillTokens) + stepsAgain(spec)) * stepMs(spec) * 1000 +
            (spec.calendar === undefined ? 0 : CHANGES_US)
        : Math.ceil(quotaWindowMs(spec) * soft * 1000) + 1;
    case 'gcra':
    case 'leaky_bucket':
      return Math.ceil(quotaWindowMs(spec) * soft * 1000) + 1;
    case 'sliding_counter':
      return (spec.windowMs * 1000 * (spec.parts + 1)) / spec.parts;
    default:
      // Days of 25 hours in months of 31 days.
      return quotaWindowMs(spec) * 1000 + ('calendar' in spec && spec.calendar !== undefined ? HOUR_US : 0);
  }
}

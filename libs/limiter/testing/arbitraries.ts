import * as fc from 'fast-check';
import {
  ALIGNS,
  CALENDAR_UNITS,
  capacityOf,
  LIMIT,
  limitFaults,
  ON_EDITS,
  quotaWindowMs,
  startLimits,
  WINDOW_STARTS,
  type Limit,
  type LimitSpec,
  type TokenBucketSpec,
} from '../src/index.js';

/** Random limits, over the whole range that the limiter accepts, with the small and awkward ones more often. */
export function limitSpecs(): fc.Arbitrary<TokenBucketSpec> {
  return fc.oneof(
    { weight: 3, arbitrary: bucketSpecs(fc.constantFrom('greedy', 'interval')) },
    { weight: 1, arbitrary: calendarBucketSpecs() },
  );
}

export const greedySpecs = (): fc.Arbitrary<TokenBucketSpec> => bucketSpecs(fc.constant('greedy'));

function bucketSpecs(refill: fc.Arbitrary<'greedy' | 'interval'>): fc.Arbitrary<TokenBucketSpec> {
  const tokens = fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 5000 }), fc.integer({ min: 1, max: 1_000_000_000 }));
  return fc
    .record({
      name: fc.constant('random'),
      algorithm: fc.constant('token_bucket' as const),
      capacity: orNone(tokens),
      refillTokens: tokens,
      refillIntervalMs: fc.oneof(
        fc.integer({ min: 1, max: 2000 }),
        fc.constantFrom(1000, 60_000, 3_600_000, 86_400_000, 2_678_400_000, 31_622_400_000),
      ),
      refill,
      align: fc.option(fc.constantFrom(...ALIGNS), { nil: undefined }),
      initialTokens,
    })
    .map(({ align, ...spec }) => (spec.refill === 'interval' ? { ...spec, align } : spec))
    .map((spec) => withoutUndefined(spec))
    .filter((spec) => limitFaults(spec).length === 0);
}

/** Steps of the calendar: an empty bucket is full after at most 60 of them. */
function calendarBucketSpecs(): fc.Arbitrary<TokenBucketSpec> {
  return fc
    .record({
      name: fc.constant('random'),
      algorithm: fc.constant('token_bucket' as const),
      refill: fc.constant('interval' as const),
      refillTokens: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 5000 }), fc.integer({ min: 1, max: 1_000_000_000 })),
      steps: fc.oneof(fc.constantFrom(0, 1, 10, 60), fc.double({ min: 0, max: 60, noNaN: true })),
      calendar: fc.constantFrom(...CALENDAR_UNITS),
      timeZone: fc.option(zones, { nil: undefined }),
      initialTokens,
    })
    .map(({ steps, ...spec }) => withoutUndefined({ ...spec, capacity: Math.min(1_000_000_000, Math.round(spec.refillTokens * steps)) }))
    .filter((spec) => limitFaults(spec).length === 0);
}

/** From one refill to the next, at most, but for days of 25 hours. */
export function stepMs(spec: TokenBucketSpec): number {
  return spec.refillIntervalMs ?? Math.round(quotaWindowMs({ ...spec, capacity: spec.refillTokens }));
}

const initialTokens = fc.option(fc.integer({ min: 0, max: 10_000 }), { nil: undefined });

type Defined<T> = { [Field in keyof T]: Exclude<T[Field], undefined> };

function withoutUndefined<T extends object>(spec: T): Defined<T> {
  return Object.fromEntries(Object.entries(spec).filter(([, value]) => value !== undefined)) as Defined<T>;
}

/** Sometimes 0: for nobody. */
const orNone = (tokens: fc.Arbitrary<number>) => fc.oneof({ weight: 1, arbitrary: fc.constant(0) }, { weight: 9, arbitrary: tokens });
const smallOrLarge = (max: number) =>
  fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: Math.min(5000, max) }), fc.integer({ min: 1, max }));
const spansMs = fc.oneof(
  fc.integer({ min: 1, max: 2000 }),
  fc.constantFrom(1000, 60_000, 3_600_000, 86_400_000, 2_678_400_000, 31_622_400_000),
);
const zones = fc.constantFrom('Etc/UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Australia/Lord_Howe', 'Pacific/Apia');

/** Random limits of every algorithm. */
export function anyLimitSpecs(): fc.Arbitrary<LimitSpec> {
  const name = fc.constant('random');
  const onEdit = fc.constantFrom(...ON_EDITS);
  const leaky = {
    name,
    onEdit,
    algorithm: fc.constant('leaky_bucket' as const),
    capacity: orNone(smallOrLarge(1e9)),
    drainTokens: smallOrLarge(1e9),
    drainIntervalMs: spansMs,
  };
  const specs: fc.Arbitrary<LimitSpec>[] = [
    limitSpecs(),
    fc.record({
      name,
      onEdit,
      algorithm: fc.constant('gcra' as const),
      capacity: orNone(smallOrLarge(1e9)),
      refillTokens: smallOrLarge(1e9),
      refillIntervalMs: spansMs,
    }),
    fc.record(leaky),
    fc.record({
      ...leaky,
      onLimit: fc.record({ delay: fc.record({ maxWaitMs: fc.integer({ min: 1, max: 30_000 }) }) }),
    }),
    fc.record({
      name,
      onEdit,
      algorithm: fc.constant('fixed_window' as const),
      limit: orNone(smallOrLarge(1e9)),
      windowMs: spansMs,
      start: fc.constantFrom(...WINDOW_STARTS),
    }),
    fc.record({
      name,
      onEdit,
      algorithm: fc.constant('fixed_window' as const),
      limit: orNone(smallOrLarge(1e9)),
      calendar: fc.constantFrom(...CALENDAR_UNITS),
      timeZone: zones,
      start: fc.constant('clock' as const),
    }),
    fc.record({
      name,
      onEdit,
      algorithm: fc.constant('sliding_log' as const),
      limit: orNone(smallOrLarge(LIMIT.variants.sliding_log.fields.limit.max)),
      windowMs: spansMs,
    }),
    fc.record({
      name,
      onEdit,
      algorithm: fc.constant('sliding_counter' as const),
      limit: orNone(smallOrLarge(1e9)),
      windowMs: spansMs,
      parts: fc.constantFrom(1, 2, 4, 5, 10, 60),
    }),
    fc.record({
      name,
      onEdit,
      algorithm: fc.constant('concurrency' as const),
      limit: orNone(smallOrLarge(LIMIT.variants.concurrency.fields.limit.max)),
      slotTimeoutMs: spansMs.filter((ms) => ms <= 86_400_000),
    }),
  ];
  const throttles: fc.Arbitrary<Pick<LimitSpec, 'throttle' | 'excessPercent'>>[] = [
    fc.constant({}),
    fc.constant({ throttle: 'elastic' as const }),
    fc.record({ throttle: fc.constant('soft' as const), excessPercent: fc.integer({ min: 1, max: 100 }) }),
  ];
  return fc
    .tuple(fc.oneof(...specs), fc.oneof(...throttles))
    .map(([spec, throttle]) => ({ ...spec, ...throttle }))
    .filter((spec) => limitFaults(spec).length === 0);
}

export function startedLimit(spec: LimitSpec, atMs: number): Limit {
  return startLimits([spec], atMs)[0]!;
}

export interface Arrival {
  /** Microseconds since the arrival before; negative where the clock steps back. */
  readonly gapUs: number;
  readonly cost: number;
}

/** Arrivals around the pace of a limit: bursts, gaps of about a token, long silence. */
export function arrivals(spec: LimitSpec, { maxLength = 60, stepsBack = false } = {}): fc.Arbitrary<Arrival[]> {
  const capacity = capacityOf(spec);
  const windowUs = Math.ceil(quotaWindowMs(spec) * 1000);
  const tokenUs = Math.max(1, Math.round(windowUs / Math.max(1, capacity)));
  const gapUs = fc.oneof(
    { weight: 3, arbitrary: fc.constant(0) },
    { weight: 3, arbitrary: fc.integer({ min: 0, max: Math.min(tokenUs * 3, 1e13) }) },
    { weight: 1, arbitrary: fc.integer({ min: 0, max: Math.min(windowUs * 2, 1e14) }) },
    { weight: stepsBack ? 1 : 0, arbitrary: fc.integer({ min: -Math.min(windowUs * 2, 1e12), max: 0 }) },
  );
  const cost = fc.oneof(
    { weight: 3, arbitrary: fc.constant(1) },
    { weight: 2, arbitrary: fc.integer({ min: 0, max: capacity + 1 }) },
    { weight: 1, arbitrary: fc.constantFrom(capacity, capacity + 1, 0) },
  );
  return fc.array(fc.record({ gapUs, cost }), { minLength: 1, maxLength });
}

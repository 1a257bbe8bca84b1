import * as fc from 'fast-check';
import { limitFaults, startLimits, type Limit, type TokenBucketSpec } from '../src/index.js';

/** Random limits, over the whole range that the limiter accepts, with the small and awkward ones more often. */
export function limitSpecs(refill: fc.Arbitrary<'greedy' | 'interval'> = fc.constantFrom('greedy', 'interval')): fc.Arbitrary<TokenBucketSpec> {
  const tokens = fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 5000 }), fc.integer({ min: 1, max: 1_000_000_000 }));
  return fc
    .record({
      name: fc.constant('random'),
      algorithm: fc.constant('token_bucket' as const),
      capacity: tokens,
      refillTokens: tokens,
      refillIntervalMs: fc.oneof(fc.integer({ min: 1, max: 2000 }), fc.constantFrom(1000, 60_000, 3_600_000, 86_400_000, 2_678_400_000)),
      refill,
      initialTokens: fc.option(fc.integer({ min: 0, max: 10_000 }), { nil: undefined }),
    })
    .map(({ initialTokens, ...spec }) => (initialTokens === undefined ? spec : { ...spec, initialTokens }))
    .filter((spec) => limitFaults(spec).length === 0);
}

export function startedLimit(spec: TokenBucketSpec, atMs: number): Limit {
  return startLimits([spec], atMs)[0]!;
}

export interface Arrival {
  /** Microseconds since the arrival before. */
  readonly gapUs: number;
  readonly cost: number;
}

/** Arrivals around the pace of a limit: bursts, gaps of about a token, long silence. */
export function arrivals(spec: TokenBucketSpec, maxLength = 60): fc.Arbitrary<Arrival[]> {
  const tokenUs = Math.max(1, Math.round((spec.refillIntervalMs * 1000) / spec.refillTokens));
  const gapUs = fc.oneof(
    { weight: 3, arbitrary: fc.constant(0) },
    { weight: 3, arbitrary: fc.integer({ min: 0, max: Math.min(tokenUs * 3, 1e13) }) },
    { weight: 1, arbitrary: fc.integer({ min: 0, max: Math.min(tokenUs * spec.capacity * 2, 1e14) }) },
  );
  const cost = fc.oneof(
    { weight: 3, arbitrary: fc.constant(1) },
    { weight: 2, arbitrary: fc.integer({ min: 0, max: spec.capacity + 1 }) },
    { weight: 1, arbitrary: fc.constantFrom(spec.capacity, spec.capacity + 1, 0) },
  );
  return fc.array(fc.record({ gapUs, cost }), { minLength: 1, maxLength });
}

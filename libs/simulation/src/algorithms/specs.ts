import { limitFaults, type LimitSpec } from '#limiter';
import type { Bound } from '../bound.js';

/** An algorithm with the numbers that make it mean "`limit` in a window". */
export interface AlgorithmChoice {
  /** As typed on the command line: unique, stable. */
  readonly name: string;
  /** As shown in charts. */
  readonly title: string;
  readonly spec: (bound: Bound) => LimitSpec;
}

export const ALGORITHMS: readonly AlgorithmChoice[] = [
  {
    name: 'token_bucket',
    title: 'token bucket',
    spec: tokenBucketSpec,
  },
];

/** Why an algorithm cannot have a bound; undefined if it can. */
export function boundFault({ spec }: AlgorithmChoice, bound: Bound): string | undefined {
  const faults = limitFaults(spec(bound));
  return faults.length === 0 ? undefined : faults.map(({ field, detail }) => `${field} ${detail}`).join('; ');
}

/** Holds one window's tokens and refills them in the course of a window. */
export function tokenBucketSpec({ limit, windowMs }: Bound): LimitSpec {
  return { name: 'token_bucket', algorithm: 'token_bucket', capacity: limit, refillTokens: limit, refillIntervalMs: windowMs, refill: 'greedy' };
}

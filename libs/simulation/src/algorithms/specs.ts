import { limitFaults, MAX_WAIT_MS, type LimitSpec } from '#limiter';
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
    name: 'sliding_log',
    title: 'sliding log',
    spec: ({ limit, windowMs }) => ({ name: 'sliding_log', algorithm: 'sliding_log', limit, windowMs }),
  },
  slidingCounter(1),
  slidingCounter(4),
  slidingCounter(60),
  fixedWindow('clock', 'fixed_window', 'fixed window'),
  fixedWindow('first_request', 'fixed_window_first_request', 'fixed, first request'),
  { name: 'token_bucket', title: 'token bucket', spec: tokenBucketSpec },
  {
    name: 'gcra',
    title: 'GCRA',
    spec: ({ limit, windowMs }) => ({ name: 'gcra', algorithm: 'gcra', capacity: limit, refillTokens: limit, refillIntervalMs: windowMs }),
  },
  {
    name: 'leaky_bucket',
    title: 'leaky bucket',
    spec: ({ limit, windowMs }) => ({
      name: 'leaky_bucket',
      algorithm: 'leaky_bucket',
      capacity: limit,
      drainTokens: limit,
      drainIntervalMs: windowMs,
    }),
  },
  {
    name: 'leaky_bucket_queue',
    title: 'leaky, as a queue',
    spec: ({ limit, windowMs }) => ({
      name: 'leaky_bucket_queue',
      algorithm: 'leaky_bucket',
      capacity: limit,
      drainTokens: limit,
      drainIntervalMs: windowMs,
      onLimit: { delay: { maxWaitMs: Math.min(windowMs, MAX_WAIT_MS.max) } },
    }),
  },
];

/** Why an algorithm cannot have a bound; undefined if it can. */
export function boundFault({ spec }: AlgorithmChoice, bound: Bound): string | undefined {
  const faults = limitFaults(spec(bound));
  return faults.length === 0 ? undefined : faults.map(({ field, detail }) => `${field} ${detail}`).join('; ');
}

/** Holds one window's tokens and refills them in the course of a window. */
export function tokenBucketSpec({ limit, windowMs }: Bound): LimitSpec {
  return {
    name: 'token_bucket',
    algorithm: 'token_bucket',
    capacity: limit,
    refillTokens: limit,
    refillIntervalMs: windowMs,
    refill: 'greedy',
  };
}

function fixedWindow(start: 'clock' | 'first_request', name: string, title: string): AlgorithmChoice {
  return { name, title, spec: ({ limit, windowMs }) => ({ name, algorithm: 'fixed_window', limit, windowMs, start }) };
}

function slidingCounter(parts: number): AlgorithmChoice {
  const name = `sliding_counter_${parts}`;
  return {
    name,
    title: `counter, ${parts} part${parts === 1 ? '' : 's'}`,
    spec: ({ limit, windowMs }) => ({ name, algorithm: 'sliding_counter', limit, windowMs, parts }),
  };
}

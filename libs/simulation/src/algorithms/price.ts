import type { Bound } from '../bound.js';
import type { Arrival } from '../traffic/arrival.js';
import { BucketMap } from './bucket-map.js';
import type { AlgorithmChoice } from './specs.js';

const ROUNDS = 7;
const MOST_ARRIVALS = 20_000;

/**
 * Nanoseconds that a decision takes, with the look-up of its state: the only figure that a seed does not repeat. All
 * algorithms take turns, and the quickest round counts, because whatever else runs on the machine can only add to it.
 *
 * @param nowMs a clock that counts on, with fractions
 */
export function priceOf(
  choices: readonly AlgorithmChoice[],
  arrivals: readonly Arrival[],
  bound: Bound,
  nowMs: () => number,
): Map<string, number> {
  const some = arrivals.slice(0, MOST_ARRIVALS);
  const best = new Map<string, number>();
  for (let round = 0; round < ROUNDS; round++) {
    for (const { name, spec } of choices) {
      const buckets = new BucketMap(spec(bound));
      const startedMs = nowMs();
      for (const { key, cost, atMs } of some) buckets.take(key, cost, atMs);
      const ns = ((nowMs() - startedMs) * 1e6) / Math.max(1, some.length);
      best.set(name, Math.min(best.get(name) ?? Infinity, ns));
    }
  }
  return best;
}

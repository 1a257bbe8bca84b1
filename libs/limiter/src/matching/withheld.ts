import { limitAlgorithm } from '../limits/limit-algorithm.js';
import { capacityOf, type LimitSpec } from '../limits/limit.js';

/**
 * The tokens of a limit that a share of it is: rounded up, so that a small limit keeps something too, but never so many that nothing is left for those
 * for whom none of it is kept. What a soft limit lets pass above it is no part of it.
 */
export function withheldOf(limit: LimitSpec, percent: number): number {
  const most = limitAlgorithm(limit).mostAtOnce?.(limit) ?? capacityOf(limit);
  return Math.min(Math.ceil((most * percent) / 100), Math.max(0, most - 1));
}

import type { WindowLevel } from '../algorithms/window-level.js';
import type { BucketLevel } from '../buckets/bucket.js';
import type { BucketTake } from '../buckets/take.js';

/**
 * The levels of all buckets of a request, of which a store was asked about some.
 *
 * @param here of the buckets that were decided about here, as they were at `hereAtUs` by the clock of the store
 * @param asked of the others, in their order, at `atUs`
 */
export function joinedLevels(
  takes: readonly BucketTake[],
  here: readonly (BucketLevel | undefined)[],
  asked: readonly BucketLevel[],
  atUs: number,
  hereAtUs: number,
): BucketLevel[] {
  let next = 0;
  return takes.map((_take, i) => {
    const level = here[i];
    if (level === undefined) return asked[next++]!;
    return 'resetAfterTakingUs' in level && atUs > 0 ? later(level, Math.max(0, atUs - hereAtUs)) : level;
  });
}

/** What is left of a window, which a refund goes by, counts from the time of the request. */
function later(level: WindowLevel, us: number): WindowLevel {
  const left = (fromUs: number): number => Math.max(0, fromUs - us);
  return { ...level, retryUs: left(level.retryUs), resetUs: left(level.resetUs), resetAfterTakingUs: left(level.resetAfterTakingUs) };
}

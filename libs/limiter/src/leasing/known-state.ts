import type { FixedWindowBucket } from '../algorithms/fixed-window/fixed-window.js';
import type { GreedyLevel } from '../algorithms/token-bucket/greedy.js';
import type { IntervalLevel } from '../algorithms/token-bucket/interval.js';
import type { WindowLevel } from '../algorithms/window-level.js';
import { isBlocked } from '../buckets/block.js';
import { clamped, stateMissing, type Bucket, type BucketLevel, type BucketState } from '../buckets/bucket.js';
import { wholeAmount } from '../algorithms/amount.js';

/**
 * The state of a bucket of which a store has said what it holds: what can be known of it without the store. Of a bucket that is blocked nothing is
 * known, so it counts as empty. Only for buckets that can be lent.
 *
 * @param atUs when that was, by the clock of the store
 */
export function knownState(bucket: Bucket, level: BucketLevel, atUs: number): BucketState {
  if (isBlocked(level)) return stateMissing(bucket, wholeAmount(bucket.capacity), atUs);
  return clamped(bucket, stateOfLevel(bucket, level, atUs), atUs);
}

function stateOfLevel(bucket: Bucket, level: BucketLevel, atUs: number): BucketState {
  switch (bucket.kind) {
    case 'greedy': {
      const { debtUs, part } = level as GreedyLevel;
      return { whole: debtUs < 0 ? debtUs - atUs : debtUs + atUs, part };
    }
    case 'interval': {
      const { tokens, steppedAtUs } = level as IntervalLevel;
      return { tokens, steppedAtUs };
    }
    case 'fixed_window':
      return { startUs: windowStart(bucket, level as WindowLevel, atUs), used: (level as WindowLevel).used };
    default:
      throw new TypeError(`a bucket of the kind ${bucket.kind} is never lent`);
  }
}

/** What counts from before a step back of the clock is taken for used in the window of now. */
function windowStart({ startsWith, windows }: FixedWindowBucket, { used, resetAfterTakingUs }: WindowLevel, atUs: number): number {
  if (startsWith !== 'first_request') return windows.around(atUs).startUs;
  return used > 0 ? Math.min(atUs, atUs + resetAfterTakingUs - windows.lengthUs) : atUs;
}

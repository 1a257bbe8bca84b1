import type { LimitAlgorithm } from '../algorithm.js';
import { CALENDAR_MS, calendarWindows } from '../calendar.js';
import { rateOf } from '../exact-span.js';
import { equalWindows } from '../windows.js';
import { TOKEN_BUCKET, type TokenBucketSpec } from './fields.js';
import { greedyBucket, type GreedyBucket } from './greedy.js';
import { intervalBucket, type IntervalBucket, type Steps } from './interval.js';

type TokenBucketNumbers = Omit<TokenBucketSpec, 'name'>;

/**
 * Holds tokens up to its capacity and gets some back in each interval. Promises for every time d: with a greedy refill, which is
 * continuous, at most capacity + rate * d are admitted; with a refill in whole steps, at most capacity + refillTokens * steps in d.
 */
export const tokenBucket: LimitAlgorithm<TokenBucketSpec, GreedyBucket | IntervalBucket, typeof TOKEN_BUCKET> = {
  table: TOKEN_BUCKET,
  bucketOf(numbers, beginning) {
    return numbers.refill === 'interval'
      ? intervalBucket(numbers.refillTokens, stepsOf(numbers, beginning.timeZone), beginning)
      : greedyBucket(rateOf(numbers.refillTokens, numbers.refillIntervalMs!), beginning);
  },
  initialTokens: ({ initialTokens }) => initialTokens,
  quotaWindowMs: (numbers, tokens) => (tokens * intervalMs(numbers)) / numbers.refillTokens,
  paceOf(numbers) {
    return numbers.refill === 'interval'
      ? { tokens: numbers.refillTokens, everyMs: intervalMs(numbers) }
      : { tokens: 1, everyMs: intervalMs(numbers) / numbers.refillTokens };
  },
  slowedDown({ refill, refillTokens, refillIntervalMs }, times) {
    if (refill === 'interval' && refillTokens >= times) return { refillTokens: Math.floor(refillTokens / times) };
    // Of steps that bring less than a token the first that completes one counts, give or take a step.
    if (refillIntervalMs === undefined) return { refillTokens: 1 };
    if (refill === 'interval') return { refillTokens: 1, refillIntervalMs: (refillIntervalMs * times) / refillTokens };
    return { refillIntervalMs: refillIntervalMs * times };
  },
};

/** From one refill to the next, at most. */
function intervalMs({ refillIntervalMs, calendar }: TokenBucketNumbers): number {
  return refillIntervalMs ?? CALENDAR_MS[calendar!];
}

function stepsOf({ refillIntervalMs, align, calendar, timeZone }: TokenBucketNumbers, merchantZone: string): Steps {
  if (calendar !== undefined)
    return { intervalUs: 0, windows: calendarWindows(calendar, timeZone ?? merchantZone), longestUs: CALENDAR_MS[calendar] * 1000 };
  const intervalUs = refillIntervalMs! * 1000;
  return align === 'clock' ? { intervalUs, windows: equalWindows(intervalUs) } : { intervalUs };
}

import { passes, StoreUnavailableError, type BucketLevel, type TakeOutcome, type TakeRequest } from '#limiter';
import { storeFailure } from './redis-error.js';

export const FULL = storeFailure('OOM', "OOM command not allowed when used memory > 'maxmemory'");

/**
 * What the answers of a call are worth of which a full Redis has written nothing. Requests that would have passed have failed:
 * what is not written is not taken. Refusals write nothing, and stand, unless they rest on what an earlier request of
 * the same call would have taken, because the script has counted that.
 *
 * Requests are to be asked about in the order in which they were sent.
 */
export class UnwrittenCall {
  /** Buckets whose levels count takes that were not written. */
  private readonly supposed = new Set<string>();

  outcome({ takes, spare }: Pick<TakeRequest, 'takes' | 'spare'>, levels: readonly BucketLevel[]): TakeOutcome {
    if (takes.some((take, i) => !this.supposed.has(take.key) && !passes(take, levels[i]!, spare))) {
      // A penalty would have counted the refusal.
      for (const { key, bucket } of takes) if (bucket.kind === 'penalty') this.supposed.add(key);
      return levels;
    }
    if (takes.every(({ key, cost }) => cost === 0 && !this.supposed.has(key))) return levels;
    for (const { key } of takes) this.supposed.add(key);
    return new StoreUnavailableError(`Redis failed: ${FULL.said}`);
  }
}

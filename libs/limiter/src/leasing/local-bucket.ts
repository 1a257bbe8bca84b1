import type { Bucket, BucketLevel } from '../bucket.js';
import type { CacheEntry } from '../sieve-cache.js';

/** A moment by two clocks, in milliseconds: one that is never set but stands still while a machine is suspended, and the one on the wall. */
export interface Moment {
  readonly nowMs: number;
  readonly wallMs: number;
}

/** What one process may decide about a bucket without asking the store. */
export interface LocalBucket extends CacheEntry {
  readonly key: string;
  readonly bucket: Bucket;
  /** Whether a report is on its way to the store. */
  underWay: boolean;
  /** @param level that the request has found */
  spend(cost: number, level: BucketLevel): void;
  /** A request did not need what it has spent. False: the store has been told meanwhile that it is spent, so only the store can give it back. */
  putBack(mark: SpentMark, cost: number, at: Moment): boolean;
}

/** By whom tokens were spent, and before which report to the store: each report begins a new mark. */
export interface SpentMark {
  readonly by: LocalBucket;
}

/** A level that a request found in a local bucket. */
export type SpentLevel = BucketLevel & { readonly spent: SpentMark };

/** The mark of a level that was found in a local bucket. */
export function markOf(level: BucketLevel): SpentMark | undefined {
  return (level as Partial<SpentLevel>).spent;
}

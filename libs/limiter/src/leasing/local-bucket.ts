import type { Bucket, BucketLevel } from '../bucket.js';
import type { CacheEntry } from '../sieve-cache.js';
import type { KeptTake } from '../take.js';

/** A moment by two clocks, in milliseconds: one that is never set but stands still while a machine is suspended, and the one on the wall. */
export interface Moment {
  readonly nowMs: number;
  readonly wallMs: number;
}

/** What one process may decide about a bucket without asking the store. */
export interface LocalBucket extends CacheEntry {
  readonly key: string;
  readonly bucket: Bucket;
  /** The take that has this as its `local`. */
  keptBy: KeptTake | undefined;
  /** Whether a report is on its way to the store. */
  underWay: boolean;
  /** Of what is spent now. */
  readonly mark: SpentMark;
  /** What a request finds of which so much is asked. @param nowUs by the clock of the store */
  levelFor(cost: number, nowUs: number): BucketLevel;
  spend(cost: number): void;
  /** A request did not need what it has spent. False: the store has been told meanwhile that it is spent, so only the store can give it back. */
  putBack(mark: SpentMark, cost: number, at: Moment): boolean;
}

/** By whom tokens were spent, and before which report to the store: each report begins a new mark. */
export interface SpentMark {
  readonly by: LocalBucket;
}

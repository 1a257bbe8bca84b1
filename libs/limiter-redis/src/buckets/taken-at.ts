import type { BucketLevel } from '#limiter';

/**
 * When each bucket of a request was asked, where the request asked several masters: their answers lie apart, and a receipt has one time. A log of takes finds its
 * entry by this time, and what refilled since is counted from it.
 */
const takenAt = new WeakMap<BucketLevel, number>();

/** @param atUs by the clock of the master that has found these levels */
export function rememberTakenAt(levels: readonly BucketLevel[], atUs: number): void {
  for (const level of levels) takenAt.set(level, atUs);
}

/** By the clock of the master that has the bucket; undefined: as the receipt says. */
export function takenAtUsOf(level: BucketLevel): number | undefined {
  return takenAt.get(level);
}

import { availableAt, keptState, mostTokens, stateWith, type Bucket, type BucketState, type FormerBucket, type StoredBucket } from './bucket.js';
import type { OnEdit } from './limit.js';

/** Generations are stored modulo this, in up to three digits. A bucket more than half a circle ahead is an old one. */
export const GENERATIONS = 1000;

/** The state of a bucket that may have been written before an edit, or never; undefined if by newer numbers than ours. */
export function stateOfStored(bucket: Bucket, stored: StoredBucket | undefined, nowUs: number): BucketState | undefined {
  if (stored === undefined) return bucket.start;
  return stored.generation === bucket.generation ? stored.state : carriedOver(bucket, stored, nowUs);
}

/**
 * What an edit of the numbers does to a live bucket: it keeps the tokens that it held at the moment of the edit, as the new
 * numbers say, and goes on by them from there. Edits are applied in order, each at its own time, however late the bucket is
 * touched again; so nobody gains by an edit, and by waiting neither.
 *
 * Returns undefined if the bucket was written under numbers newer than ours: the caller must fetch the rule again. A
 * bucket older than all that is known of the limit counts as empty, which never hands out a token.
 *
 * The Lua script does the same in the same order of floating-point operations.
 */
export function carriedOver(bucket: Bucket, stored: StoredBucket, nowUs: number): BucketState | undefined {
  const from = bucket.former.findIndex((former) => former.generation % GENERATIONS === stored.generation % GENERATIONS);
  if (from === -1) {
    return isNewer(stored.generation, bucket.generation) ? undefined : stateWith(bucket, 0, nowUs);
  }
  let current: FormerBucket = bucket.former[from]!;
  let state = stored.state;
  for (const next of [...bucket.former.slice(from + 1), bucket]) {
    const editedAtUs = Math.min(next.startedAtUs, nowUs);
    state = keptState(current, next, state) ?? stateWith(next, keptTokens(next.onEdit, availableAt(current, state, editedAtUs), mostTokens(current), mostTokens(next)), editedAtUs);
    current = next;
  }
  return state;
}

/** The tokens that a bucket has to give after an edit, from those that it had before it. */
export function keptTokens(onEdit: OnEdit, available: number, capacity: number, newCapacity: number): number {
  switch (onEdit) {
    case 'as_is':
      return Math.min(available, newCapacity);
    case 'proportional':
      // Of a capacity of 0 no share can be told: as_is.
      return Math.min(capacity > 0 ? (available * newCapacity) / capacity : available, newCapacity);
    case 'reset':
      return newCapacity;
    case 'additive':
      return Math.min(Math.min(available, newCapacity) + Math.max(0, newCapacity - capacity), newCapacity);
  }
}

export function isNewer(generation: number, than: number): boolean {
  const ahead = (generation - than) % GENERATIONS;
  return (ahead + GENERATIONS) % GENERATIONS < GENERATIONS / 2;
}

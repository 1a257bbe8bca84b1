import { atLeastNothing, NOTHING, plus, scaled, wholeAmount, type Amount } from '../algorithms/amount.js';
import {
  clamped,
  exhausted,
  generationsOf,
  keptState,
  missingAt,
  startState,
  stateMissing,
  type Bucket,
  type BucketState,
  type BucketGeneration,
  type StoredBucket,
} from './bucket.js';
import { afterwards, NO_LEASES, type Leases } from './lease.js';
import { occupiedUntil } from './lending.js';
import type { OnEdit } from '../limits/limit.js';

/**
 * The state of a bucket as its present numbers see it at an instant: the same object if it is as it was stored; undefined if it was
 * written under newer numbers than ours: the caller must fetch the rule again.
 */
export function stateOfStored(bucket: Bucket, stored: StoredBucket, nowUs: number): BucketState | undefined {
  const { state, generation, leases = NO_LEASES } = stored;
  if (generation > bucket.generation) return undefined;
  if (generation === bucket.generation) return occupiedUntil(bucket, clamped(bucket, state, nowUs), leases, nowUs);
  // Leases that were over before the last edit have held up the refill under the numbers before it.
  const later = afterwards(leases, Math.min(bucket.startedAtUs, nowUs));
  return occupiedUntil(bucket, clamped(bucket, carriedOver(bucket, stored, nowUs), nowUs), later, nowUs);
}

/**
 * What an edit of the numbers does to a live bucket: it keeps the tokens that it held at the moment of the edit, as the new
 * numbers say, and goes on by them from there. Edits are applied in order, each at its own time, however late the bucket is
 * touched again; so nobody gains by an edit, and by waiting neither.
 *
 * A bucket older than all that is known of the limit was empty at worst when the oldest known numbers came into force, and has
 * refilled since. Numbers are forgotten when that makes it full (see `livePrevious`), so nobody loses by it.
 *
 * The Lua script does the same, as exactly.
 */
function carriedOver(bucket: Bucket, stored: StoredBucket, nowUs: number): BucketState {
  const generations = generationsOf(bucket);
  const [oldest] = generations;
  if (generations.length === 1) return startState(bucket, nowUs);
  const from = generations.findIndex(({ generation }) => generation === stored.generation);
  return from === -1
    ? carriedAlong(generations, exhausted(oldest!, Math.min(oldest!.startedAtUs, nowUs)), nowUs, stored.leases)
    : carriedAlong(generations.slice(from), stored.state, nowUs, stored.leases);
}

/** A state of the first of these numbers, carried over to the last of them; and what was lent of the bucket, which is lent on. */
export function carriedAlong(
  [first, ...later]: readonly BucketGeneration[],
  written: BucketState,
  nowUs: number,
  lent: Leases = NO_LEASES,
): BucketState {
  let current = first!;
  let state = written;
  let leases = lent;
  for (const next of later) {
    const editedAtUs = Math.min(next.startedAtUs, nowUs);
    state = occupiedUntil(current, state, leases, editedAtUs);
    leases = afterwards(leases, editedAtUs);
    state =
      keptState(current, next, state) ??
      stateMissing(next, missingAfterEdit(next.onEdit, missingAt(current, state, editedAtUs), current.capacity, next.capacity), editedAtUs);
    current = next;
  }
  return state;
}

/** The tokens that are missing after an edit, from those that were before it. */
export function missingAfterEdit(onEdit: OnEdit, missing: Amount, capacity: number, newCapacity: number): Amount {
  switch (onEdit) {
    case 'as_is':
      return atLeastNothing(plus(missing, newCapacity - capacity));
    case 'proportional':
      // Of a bucket that holds nothing, everything is missing.
      if (missing.whole >= capacity) return wholeAmount(newCapacity);
      return missing.whole < 0 ? NOTHING : scaled(missing, newCapacity, capacity);
    case 'reset':
      return NOTHING;
    case 'additive':
      return atLeastNothing(plus(missing, Math.min(0, newCapacity - capacity)));
  }
}

import { greedyStateOf, greedyTokens, type GreedyLevel } from './greedy-refill.js';
import type { IntervalLevel } from './interval-refill.js';
import { levelAt, type BucketLevel, type BucketState, type FormerBucket, type StoredBucket, type TokenBucket } from './token-bucket.js';

/** Generations are stored modulo this, in up to three digits. A bucket more than half a circle ahead is an old one. */
export const GENERATIONS = 1000;

/** The level of a bucket that may have been written before an edit, or never; undefined if by newer numbers than ours. */
export function levelOfStored(bucket: TokenBucket, stored: StoredBucket | undefined, nowUs: number): BucketLevel | undefined {
  if (stored === undefined) return levelAt(bucket, bucket.start, nowUs);
  if (stored.generation === bucket.generation) return levelAt(bucket, stored.state, nowUs);
  const state = carriedOver(bucket, stored, nowUs);
  return state && levelAt(bucket, state, nowUs);
}

/**
 * What an edit of the numbers does to a live bucket (`as_is`): it keeps the tokens that it held at the moment of the
 * edit, as far as they fit into the new capacity, and refills at the new rate from there. Edits are applied in order,
 * each at its own time, however late the bucket is touched again; so nobody gains by an edit, and by waiting neither.
 *
 * Returns undefined if the bucket was written under numbers newer than ours: the caller must fetch the rule again. A
 * bucket older than all that is known of the limit counts as empty, which never hands out a token.
 *
 * The Lua script does the same in the same order of floating-point operations.
 */
export function carriedOver(bucket: TokenBucket, stored: StoredBucket, nowUs: number): BucketState | undefined {
  const from = bucket.former.findIndex((former) => former.generation % GENERATIONS === stored.generation % GENERATIONS);
  if (from === -1) {
    return isNewer(stored.generation, bucket.generation) ? undefined : stateWith(bucket, 0, nowUs);
  }
  let current: FormerBucket = bucket.former[from]!;
  let state = stored.state;
  for (const next of [...bucket.former.slice(from + 1), bucket]) {
    const editedAtUs = Math.min(next.startedAtUs, nowUs);
    const tokens = Math.min(tokensAt(current, state, editedAtUs), next.capacity);
    state = stateWith(next, tokens, editedAtUs);
    current = next;
  }
  return state;
}

export function isNewer(generation: number, than: number): boolean {
  const ahead = (generation - than) % GENERATIONS;
  return (ahead + GENERATIONS) % GENERATIONS < GENERATIONS / 2;
}

/** Tokens with their fraction; negative if they were spent, by a gateway that did not know yet, after this instant. */
export function tokensAt(bucket: FormerBucket, state: BucketState, nowUs: number): number {
  if (bucket.refill === 'interval') return (levelAt(bucket, state, nowUs) as IntervalLevel).tokens;
  const { whole, part } = state as { whole: number; part: number };
  const level: GreedyLevel = whole < 0
    ? { debtUs: Math.min(0, whole + nowUs), part: whole + nowUs < 0 ? part : 0 }
    : { debtUs: Math.max(0, whole - nowUs), part: whole >= nowUs ? part : 0 };
  return greedyTokens(bucket, level);
}

export function stateWith(bucket: FormerBucket, tokens: number, nowUs: number): BucketState {
  return bucket.refill === 'greedy'
    ? greedyStateOf(bucket, tokens, nowUs)
    : { tokens: Math.floor(tokens), steppedAtUs: nowUs };
}

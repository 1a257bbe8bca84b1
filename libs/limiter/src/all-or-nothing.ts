import { isBlocked } from './block.js';
import { allows, standsAside, type BucketLevel } from './bucket.js';
import type { BucketTake } from './ports.js';

/** What the buckets of one request decide together. */

/** @param spare whether elastic limits that have nothing left let the request pass */
export function allPass(takes: readonly BucketTake[], levels: readonly BucketLevel[], spare: boolean): boolean {
  for (let i = 0; i < takes.length; i++) {
    if (!passes(takes[i]!, levels[i]!, spare)) return false;
  }
  return true;
}

/**
 * Whether the limits that the penalty at an index watches have refused; what merely looks is no refusal, and what an operator has blocked
 * refuses for a reason of its own.
 */
export function isProvoked(takes: readonly BucketTake[], levels: readonly BucketLevel[], index: number, spare: boolean): boolean {
  const { bucket, cost, refused: told } = takes[index]!;
  if (told !== undefined) return !isBlocked(levels[index]!);
  if (bucket.kind !== 'penalty' || cost === 0 || isBlocked(levels[index]!)) return false;
  let refused = false;
  for (let i = index - bucket.watches; i < index; i++) {
    if (isBlocked(levels[i]!)) return false;
    if (!passes(takes[i]!, levels[i]!, spare)) refused = true;
  }
  return refused;
}

function passes({ bucket, cost }: BucketTake, level: BucketLevel, spare: boolean): boolean {
  return allows(bucket, level, cost) || (standsAside(bucket, spare) && !isBlocked(level));
}

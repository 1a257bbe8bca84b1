import { roundedUp } from '../algorithms/amount.js';
import type { Block } from './block.js';
import { adjusted, leasesEndUs, levelAt, missingAt, occupied, type Bucket, type BucketGeneration, type BucketState } from './bucket.js';
import { lentBy, MOST_LENT_SHARE, MOST_LESSEES, type Leases } from './lease.js';
import type { LendRequest, Lent } from './lend.js';

/** The state at an instant of a bucket whose refill was held up by leases since it was written: each as long as it went on. */
export function occupiedUntil(bucket: BucketGeneration, written: BucketState, leases: Leases, untilUs: number): BucketState {
  let state = written;
  let lent = lentBy(leases);
  for (const lease of leases) {
    if (lease.endUs > untilUs) break;
    state = occupied(bucket, state, lent, lease.endUs - 1);
    lent -= lease.lent;
  }
  return occupied(bucket, state, lent, untilUs);
}

/** A bucket as a call finds it, and leaves it: the state as it may be at that instant, what is lent of it, and a block that is not over. */
export interface LeasedBucket {
  readonly state: BucketState;
  readonly leases: Leases;
  readonly block: Block | undefined;
}

/** The bucket after a gateway's word about its lease, and the answer. The same state and leases if there is nothing to write. */
export function lentOut(
  bucket: Bucket,
  found: LeasedBucket,
  request: LendRequest,
  nowUs: number,
): { readonly left: LeasedBucket; readonly lent: Lent } {
  const lease = found.leases.find(({ lessee }) => lessee === request.lessee);
  const others = lease === undefined ? found.leases : found.leases.filter((each) => each !== lease);
  if (lease !== undefined && request.sequence <= lease.sequence)
    return { left: found, lent: answerOf(bucket, found, others, nowUs, NOTHING_DONE) };
  const lentBefore = lease?.lent ?? 0;
  const kept = Math.min(lentBefore, request.holds);
  const returned = Math.min(lentBefore - kept, request.givesBack);
  const reported = returned > 0 ? adjusted(bucket, found.state, returned, nowUs) : found.state;
  const charged = Math.min(request.overspent, available(bucket, reported, nowUs));
  const settled = charged > 0 ? adjusted(bucket, reported, -charged, nowUs) : reported;
  const granted =
    found.block === undefined ? grantable({ ...found, state: settled, leases: others }, kept, bucket, request.wants, nowUs) : 0;
  const state = granted > 0 ? adjusted(bucket, settled, -granted, nowUs) : settled;
  const lastUs = leasesEndUs(bucket, state, nowUs);
  const lent = kept + granted;
  // A later end that was promised stands: whether this answer arrives is not known.
  const endUs = Math.max(lease?.endUs ?? 0, Math.min(nowUs + request.forUs + 1, lastUs));
  const leases = lent > 0 ? sorted([...others, { lessee: request.lessee, sequence: request.sequence, lent, endUs }]) : others;
  const left = { ...found, state, leases };
  return {
    left,
    lent: answerOf(bucket, left, others, nowUs, { kept, granted, charged, forUs: lent > 0 ? Math.min(request.forUs, lastUs - nowUs) : 0 }),
  };
}

const NOTHING_DONE = { kept: 0, granted: 0, charged: 0, forUs: 0 };

function answerOf(
  bucket: Bucket,
  { state, block }: LeasedBucket,
  others: Leases,
  nowUs: number,
  done: Pick<Lent, 'kept' | 'granted' | 'charged' | 'forUs'>,
): Lent {
  const level = block === undefined ? levelAt(bucket, state, nowUs, 1) : { blockedForUs: block.untilUs - nowUs };
  return { ...done, level, lentElsewhere: lentBy(others) };
}

/** Whole tokens that are there. */
function available(bucket: Bucket, state: BucketState, nowUs: number): number {
  return Math.max(0, bucket.capacity - roundedUp(missingAt(bucket, state, nowUs)));
}

function grantable({ state, leases: others }: LeasedBucket, kept: number, bucket: Bucket, wants: number, nowUs: number): number {
  if (others.length >= MOST_LESSEES) return 0;
  const share = Math.floor(bucket.capacity * MOST_LENT_SHARE) - lentBy(others) - kept;
  const there = available(bucket, state, nowUs);
  // Nothing of a surplus: it goes by itself, and as long as it is there it is spent by asking.
  return there > bucket.capacity ? 0 : Math.max(0, Math.min(wants, share, there));
}

function sorted(leases: Leases): Leases {
  return [...leases].sort((a, b) => a.endUs - b.endUs || a.lessee - b.lessee);
}

import { ALGORITHMS } from '../algorithms/index.js';
import type { Bucket, BucketLevel } from './bucket.js';
import { MOST_LEASE_US } from './lease.js';
import type { NewerRulesError, StoreUnavailableError } from '../stores/ports.js';

/**
 * Leases: tokens that a store lends to one gateway, which spends them without asking. What is lent still occupies the bucket, so that it refills
 * only as far as if each token had been taken when it was spent: see lease.ts.
 */

/** A gateway's word about its lease of one bucket, and what it wants of it. */
export interface LendRequest {
  readonly key: string;
  readonly bucket: Bucket;
  /** Names the gateway: a number that no other live gateway has, drawn at its start, from 1 to 2^32 - 1. */
  readonly lessee: number;
  /**
   * Rises with every call of this lessee for this bucket. A call that is not above the last one carried out changes nothing and is granted nothing. What is
   * granted in an answer to any but its last call is void: the later call has not counted it among what the lessee holds.
   */
  readonly sequence: number;
  /** Tokens that it still holds of earlier grants, at most, and keeps. What was lent and is neither held nor given back is spent. */
  readonly holds: number;
  /** Tokens that it gives back now; they are not among those it holds. */
  readonly givesBack: number;
  /** Tokens that it has spent without having them: as many as are there are taken. */
  readonly overspent: number;
  /** Tokens that it wants to be lent, at most; 0 to report only. */
  readonly wants: number;
  /** Until the lease ends, in microseconds, if it is not renewed: counted from when this was sent, at most MOST_LEASE_US. */
  readonly forUs: number;
}

export interface Lent {
  /**
   * How many of the tokens it holds are lent to it as far as the store knows: what it holds beyond that is void, because its lease was over, or the store has
   * lost it.
   */
  readonly kept: number;
  /** Tokens granted now: at most what was wanted, what is there, and what the share leaves. 0 refuses no request. */
  readonly granted: number;
  /** What was there to be taken of the tokens overspent. */
  readonly charged: number;
  /**
   * Until the lease ends, in microseconds, counted from when the call was sent: for what it holds and for what is granted. Less than was asked for where a
   * window or the numbers of the bucket end before. 0 if the lessee holds nothing, or if the call came too late to be carried out.
   */
  readonly forUs: number;
  /** What is left in the bucket after it, for a request of cost 1; a BlockedLevel if an operator blocks it, and then nothing is granted. */
  readonly level: BucketLevel;
  /** Tokens that others hold of it. */
  readonly lentElsewhere: number;
}

export type LendOutcome = Lent | StoreUnavailableError | NewerRulesError;

/** `atUs` is when it was, by the clock of the store; 0 if there is no answer. */
export type LendAnswer = (outcome: LendOutcome, atUs: number) => void;

/** What gateways that lease do to live buckets. */
export interface BucketLender {
  /**
   * Carries out a gateway's word about its lease of one bucket, atomically, and grants it tokens. Calls back once, perhaps before it returns, with the
   * errors of takes. A call without an answer may have been carried out. Throws a TypeError or a RangeError for what `checkLend` refuses.
   */
  lend(request: LendRequest, answer: LendAnswer): void;
}

const MOST_LESSEE = 2 ** 32 - 1;

/**
 * Whether tokens of a bucket can be lent. What has refilled beyond what is lent must be known as tokens, so logs and counters that slide cannot, nor slots;
 * in a queue a request behind the leased tokens would have no turn; and whether an elastic limit is bypassed is decided at each take.
 */
export function canBeLent(bucket: Bucket): boolean {
  const isQueue = bucket.kind === 'greedy' && bucket.maxWaitUs !== undefined;
  return ALGORITHMS[bucket.kind].occupied !== undefined && !isQueue && !bucket.elastic && bucket.withheld === 0;
}

/** Throws a TypeError for a bucket that cannot be lent, and a RangeError for numbers out of bounds: both are errors of the program. */
export function checkLend(request: LendRequest): void {
  const { bucket, lessee, sequence, forUs } = request;
  if (!canBeLent(bucket)) throw new TypeError(`tokens of this bucket cannot be lent: ${bucket.kind}`);
  checkWhole('lessee', lessee, 1, MOST_LESSEE);
  checkWhole('sequence', sequence, 1, Number.MAX_SAFE_INTEGER);
  checkWhole('forUs', forUs, 1, MOST_LEASE_US);
  for (const field of ['holds', 'givesBack', 'overspent', 'wants'] as const) checkWhole(field, request[field], 0, Number.MAX_SAFE_INTEGER);
}

function checkWhole(field: keyof LendRequest, value: number, min: number, max: number): void {
  if (!Number.isInteger(value) || value < min || value > max)
    throw new RangeError(`${field} must be a whole number from ${min} to ${max}, got ${value}`);
}

import type { Decision } from '../../buckets/decision.js';
import type { BucketAlgorithm } from '../algorithm.js';
import { wholeAmount } from '../amount.js';
import { ceilMs } from '../exact-span.js';
import type { Penalty } from './fields.js';

/**
 * Blocks a key whose requests the limits of a rule have refused too often. It stands behind these limits in a request and lets
 * everything pass unless it blocks; what it remembers are refusals, the only thing that a refused request leaves behind. While it
 * blocks nothing is counted, so a block ends however hard a client tries.
 */
export interface PenaltyState {
  /** Refusals in the window that runs; 0 in a block. */
  readonly refusals: number;
  /** The first refusal of the window; in a block, its end. */
  readonly atUs: number;
}

export interface PenaltyBucket {
  readonly kind: 'penalty';
  /** The refusal with which the block begins. */
  readonly capacity: number;
  readonly windowUs: number;
  readonly blockUs: number;
  /** How many limits it watches: those right before it in a request. */
  readonly watches: number;
  readonly start: PenaltyState;
}

export interface PenaltyLevel {
  /** How long the block goes on; 0 if there is none. */
  readonly blockedUs: number;
  readonly refusals: number;
}

export function penaltyBucket({ refusals, windowMs, blockMs }: Penalty, watches: number): PenaltyBucket {
  return {
    kind: 'penalty',
    capacity: refusals,
    windowUs: windowMs * 1000,
    blockUs: blockMs * 1000,
    watches,
    start: { refusals: 0, atUs: 0 },
  };
}

/** Neither a block nor a window lasts longer than it may: because the clock stepped back, or because it was longer before an edit. */
function clamped({ blockUs }: PenaltyBucket, state: PenaltyState, nowUs: number): PenaltyState {
  const latestUs = state.refusals === 0 ? nowUs + blockUs : nowUs;
  return state.atUs > latestUs ? { refusals: state.refusals, atUs: latestUs } : state;
}

function levelAt({ windowUs }: PenaltyBucket, { refusals, atUs }: PenaltyState, nowUs: number): PenaltyLevel {
  if (refusals === 0) return { blockedUs: Math.max(0, atUs - nowUs), refusals: 0 };
  return { blockedUs: 0, refusals: nowUs < atUs + windowUs ? refusals : 0 };
}

/**
 * The state after refusals by the limits that it watches: one now, or several that are told later than they were, the first of them at
 * `firstUs`. Those are counted if all of them belong to one window, so that a block never begins too soon.
 */
export function penalized(bucket: PenaltyBucket, state: PenaltyState, nowUs: number, count = 1, firstUs = nowUs): PenaltyState {
  const { blockedUs, refusals } = levelAt(bucket, state, nowUs);
  if (blockedUs > 0) return state;
  const endUs = state.refusals === 0 ? state.atUs : state.atUs + bucket.windowUs;
  const belong = refusals > 0 ? firstUs >= state.atUs : firstUs >= endUs && nowUs < firstUs + bucket.windowUs;
  if (!belong) return state;
  if (refusals + count >= bucket.capacity) return { refusals: 0, atUs: nowUs + bucket.blockUs };
  return { refusals: refusals + count, atUs: refusals === 0 ? firstUs : state.atUs };
}

/** What the bucket holds after refusals at the instant at which it was found. */
export function penalizedLevel(bucket: PenaltyBucket, { blockedUs, refusals }: PenaltyLevel): PenaltyLevel {
  if (blockedUs > 0) return { blockedUs, refusals };
  return refusals + 1 >= bucket.capacity ? { blockedUs: bucket.blockUs, refusals: 0 } : { blockedUs: 0, refusals: refusals + 1 };
}

function decide(bucket: PenaltyBucket, { blockedUs, refusals }: PenaltyLevel): Decision {
  const waitMs = ceilMs(blockedUs, 0);
  return {
    allowed: blockedUs === 0,
    limit: bucket.capacity,
    remaining: blockedUs === 0 ? bucket.capacity - refusals : 0,
    retryAfterMs: waitMs,
    resetAfterMs: waitMs,
  };
}

export const penaltyBuckets: BucketAlgorithm<PenaltyBucket, PenaltyState, PenaltyLevel> = {
  clamped,
  level: levelAt,
  allows: (_bucket, { blockedUs }) => blockedUs === 0,
  after: (_bucket, state) => state,
  decide,
  later: (_bucket, { blockedUs, refusals }, us) => ({ blockedUs: Math.max(0, blockedUs - us), refusals }),
  refunded: (_bucket, state) => state,
  missing(bucket, state, atUs) {
    const { blockedUs, refusals } = levelAt(bucket, state, atUs);
    return wholeAmount(blockedUs > 0 ? bucket.capacity : refusals);
  },
  stateMissing: ({ start }) => start,
  // A penalty takes no tokens, so no cost is too large for it.
  whenBlocked: (_bucket, waitMs) => ({ retryAfterMs: waitMs }),
};

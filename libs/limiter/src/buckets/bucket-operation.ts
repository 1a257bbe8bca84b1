import { NOTHING } from '../algorithms/amount.js';
import { ceilMs } from '../algorithms/exact-span.js';
import type { Block } from './block.js';
import { adjusted, canBeAdjusted, decide, stateMissing, type Bucket, type BucketLevel, type BucketState } from './bucket.js';

/** What an operator can do to one live bucket, while requests take from it. */
export type BucketOperation =
  | { readonly kind: 'read' }
  /** Full, neither more nor less. A block goes on. */
  | { readonly kind: 'reset' }
  /** Adds tokens, up to full, or takes them (negative), down to empty. */
  | { readonly kind: 'adjust'; readonly tokens: number }
  /** Refuses everything for so long from now, whatever block there was before. */
  | { readonly kind: 'block'; readonly forMs: number }
  | { readonly kind: 'unblock' };

export const OPERATION_BOUNDS = {
  /** Whole, and not 0. */
  tokens: { min: -1_000_000_000, max: 1_000_000_000 },
  /** Whole milliseconds, to a leap year. */
  forMs: { min: 1, max: 366 * 86_400_000 },
} as const;

/** What a bucket holds after an operation. A look of a request would say the same if there were no block. */
export interface BucketReading {
  readonly remaining: number;
  /** The limit as it is written. */
  readonly limit: number;
  /** How long until the bucket is full if left alone; it refills while it is blocked. */
  readonly resetAfterMs: number;
  /** How long an operator's block goes on; 0 if there is none. */
  readonly blockedForMs: number;
}

/** The numbers of an operation are out of bounds. */
export class InvalidOperationError extends Error {
  constructor(
    readonly field: 'tokens' | 'forMs',
    detail: string,
  ) {
    super(`${field}: ${detail}`);
    this.name = 'InvalidOperationError';
  }
}

/** The algorithm has nothing that this operation could change. */
export class OperationNotPossibleError extends Error {
  constructor(
    readonly operation: BucketOperation['kind'],
    readonly algorithm: Bucket['kind'],
  ) {
    super(`${operation} is not possible for the algorithm ${algorithm}: it has no tokens that could be added or taken`);
    this.name = 'OperationNotPossibleError';
  }
}

/** Throws InvalidOperationError or OperationNotPossibleError. Stores ask it first, so that what reaches a bucket is within bounds. */
export function checkOperation(bucket: Bucket, operation: BucketOperation): void {
  if (operation.kind === 'adjust') {
    const { min, max } = OPERATION_BOUNDS.tokens;
    if (!isWholeWithin(operation.tokens, min, max) || operation.tokens === 0) {
      throw new InvalidOperationError('tokens', `must be a whole number from ${min} to ${max}, and not 0, got ${operation.tokens}`);
    }
    if (!canBeAdjusted(bucket)) throw new OperationNotPossibleError(operation.kind, bucket.kind);
  } else if (operation.kind === 'block') {
    const { min, max } = OPERATION_BOUNDS.forMs;
    if (!isWholeWithin(operation.forMs, min, max))
      throw new InvalidOperationError('forMs', `must be a whole number from ${min} to ${max}, got ${operation.forMs}`);
  }
}

function isWholeWithin(value: number, min: number, max: number): boolean {
  return Number.isInteger(value) && value >= min && value <= max;
}

/** A bucket as an operation finds it: the state as it may be at that instant, and a block that is not over. */
export interface HeldBucket {
  readonly state: BucketState;
  readonly block: Block | undefined;
}

/** The bucket after an operation: the same object if there is nothing to write. */
export function operated(bucket: Bucket, held: HeldBucket, operation: BucketOperation, nowUs: number): HeldBucket {
  switch (operation.kind) {
    case 'read':
      return held;
    case 'reset':
      // Not the state that the limit started with: a launch surplus is given once.
      return { ...held, state: stateMissing(bucket, NOTHING, nowUs) };
    case 'adjust':
      return { ...held, state: adjusted(bucket, held.state, operation.tokens, nowUs) };
    case 'block': {
      const lengthUs = operation.forMs * 1000;
      return { ...held, block: { untilUs: nowUs + lengthUs, lengthUs } };
    }
    case 'unblock':
      return held.block === undefined ? held : { ...held, block: undefined };
  }
}

/**
 * @param level what the bucket holds beneath a block, for a request of cost 0
 * @param blockedForUs 0 if it is not blocked
 */
export function readingOf(bucket: Bucket, level: BucketLevel, blockedForUs: number): BucketReading {
  const { remaining, limit, resetAfterMs } = decide(bucket, level, 0, false);
  return { remaining, limit, resetAfterMs, blockedForMs: ceilMs(blockedForUs, 0) };
}

import type { BlockedLevel } from '../buckets/block.js';
import type { BucketAlgorithm } from './algorithm.js';
import { concurrency, concurrencyBuckets } from './concurrency/concurrency.js';
import { fixedWindow, fixedWindowBuckets } from './fixed-window/fixed-window.js';
import { gcra } from './gcra.js';
import { leakyBucket } from './leaky-bucket.js';
import { penaltyBuckets } from './penalty/penalty.js';
import { slidingCounter, slidingCounterBuckets } from './sliding-counter/sliding-counter.js';
import { slidingLog, slidingLogBuckets } from './sliding-log/sliding-log.js';
import { greedyBuckets } from './token-bucket/greedy.js';
import { intervalBuckets } from './token-bucket/interval.js';
import { tokenBucket } from './token-bucket/token-bucket.js';

export * from './concurrency/concurrency.js';
export * from './fixed-window/fixed-window.js';
export * from './penalty/penalty.js';
export * from './sliding-counter/sliding-counter.js';
export * from './sliding-log/sliding-log.js';
export * from './token-bucket/greedy.js';
export * from './token-bucket/interval.js';

/** All algorithms: nothing but this file and their own name them. */

/** By their names in the rule language: see limit-fields.ts, which makes the language of them, and limit-algorithm.ts. */
export const LIMIT_ALGORITHMS = {
  token_bucket: tokenBucket,
  gcra,
  leaky_bucket: leakyBucket,
  fixed_window: fixedWindow,
  sliding_log: slidingLog,
  sliding_counter: slidingCounter,
  concurrency,
};

/** How buckets count, by their kind. A penalty belongs to a rule and not to a limit. */
const BUCKET_ALGORITHMS = {
  greedy: greedyBuckets,
  interval: intervalBuckets,
  fixed_window: fixedWindowBuckets,
  sliding_log: slidingLogBuckets,
  sliding_counter: slidingCounterBuckets,
  concurrency: concurrencyBuckets,
  penalty: penaltyBuckets,
};

type BucketAlgorithms = (typeof BUCKET_ALGORITHMS)[keyof typeof BUCKET_ALGORITHMS];
type BucketOf<A> = A extends BucketAlgorithm<infer Bucket, infer _State, infer _Level> ? Bucket : never;
type StateOf<A> = A extends BucketAlgorithm<infer _Bucket, infer State, infer _Level> ? State : never;
type LevelOf<A> = A extends BucketAlgorithm<infer _Bucket, infer _State, infer Level> ? Level : never;

/** What does not change between two requests to a bucket: the numbers of its limit, and what follows from them. */
export type BucketNumbers = BucketOf<BucketAlgorithms>;
export type BucketKind = BucketNumbers['kind'];
export type BucketState = StateOf<BucketAlgorithms>;
/** What a bucket holds at an instant, or that an operator blocks it. */
export type BucketLevel = LevelOf<BucketAlgorithms> | BlockedLevel;

/** By the kind of a bucket. Each is only ever given buckets, states and levels of its own, and to `allows` levels of blocked buckets. */
export const ALGORITHMS = BUCKET_ALGORITHMS as unknown as Record<BucketKind, BucketAlgorithm<BucketNumbers, BucketState, BucketLevel>>;

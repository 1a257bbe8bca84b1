import type { BlockedLevel } from '../block.js';
import type { AlgorithmName, LimitNumbers } from '../limit.js';
import type { BucketAlgorithm, LimitAlgorithm } from './algorithm.js';
import { concurrency, concurrencyBuckets } from './concurrency/concurrency.js';
import { fixedWindow, fixedWindowBuckets } from './fixed-window/fixed-window.js';
import { gcra } from './gcra/gcra.js';
import { leakyBucket } from './leaky-bucket/leaky-bucket.js';
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

/** By their names in the rule language. */
const LIMIT_ALGORITHMS = {
  token_bucket: tokenBucket,
  gcra,
  leaky_bucket: leakyBucket,
  fixed_window: fixedWindow,
  sliding_log: slidingLog,
  sliding_counter: slidingCounter,
  concurrency,
} satisfies { [Name in AlgorithmName]: LimitAlgorithm<Extract<LimitNumbers, { algorithm: Name }>, BucketNumbers> };

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

/** An algorithm is only ever given the numbers of its own limits, which the type of a table cannot say. */
export function limitAlgorithm({ algorithm }: Pick<LimitNumbers, 'algorithm'>): LimitAlgorithm<LimitNumbers, BucketNumbers> {
  return LIMIT_ALGORITHMS[algorithm];
}

/** By the kind of a bucket. Each is only ever given buckets, states and levels of its own, and to `allows` levels of blocked buckets. */
export const ALGORITHMS = BUCKET_ALGORITHMS as unknown as Record<BucketKind, BucketAlgorithm<BucketNumbers, BucketState, BucketLevel>>;

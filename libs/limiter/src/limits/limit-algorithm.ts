import type { LimitMeaning } from '../algorithms/algorithm.js';
import { LIMIT_ALGORITHMS, type BucketNumbers } from '../algorithms/index.js';
import type { AlgorithmName, LimitNumbers } from './limit.js';

const BY_NAME = LIMIT_ALGORITHMS satisfies {
  [Name in AlgorithmName]: LimitMeaning<Extract<LimitNumbers, { algorithm: Name }>, BucketNumbers>;
};

/** An algorithm is only ever given the numbers of its own limits, which the type of a table cannot say. */
export function limitAlgorithm({ algorithm }: Pick<LimitNumbers, 'algorithm'>): LimitMeaning<LimitNumbers, BucketNumbers> {
  return BY_NAME[algorithm];
}

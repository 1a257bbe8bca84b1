import type { GreedyBucket, GreedyLevel } from '#limiter';
import type { BucketCodec } from './codec.js';
import { greedyWithParts } from './greedy-with-parts.js';

export const queue: BucketCodec<GreedyBucket, GreedyLevel> = {
  ...greedyWithParts,
  name: 'queue',
  fits: ({ maxWaitUs }) => maxWaitUs !== undefined,
  packTake(writer, bucket, cost, nowUs) {
    greedyWithParts.packTake(writer, bucket, cost, nowUs);
    writer.f64(bucket.maxWaitUs!);
  },
};

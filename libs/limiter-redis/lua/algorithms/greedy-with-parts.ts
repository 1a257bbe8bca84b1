import { greedyCost, type GreedyBucket, type GreedyLevel } from '#limiter';
import type { BucketCodec } from './codec.js';
import { greedy } from './greedy.js';

export const greedyWithParts: BucketCodec<GreedyBucket, GreedyLevel> = {
  ...greedy,
  name: 'greedy-with-parts',
  replyLength: 2,
  fits: ({ maxWaitUs }) => maxWaitUs === undefined,
  packTake(writer, bucket, cost) {
    const { full, start, rate, surplusUs, startedAtUs } = bucket;
    const price = greedyCost(bucket, cost);
    writer.f64(price.whole, full.whole, rate.n, price.part, full.part, start.whole, start.part, surplusUs, startedAtUs);
  },
  levelOf: (reply, position) => ({ debtUs: reply[position]!, part: reply[position + 1]! }),
};

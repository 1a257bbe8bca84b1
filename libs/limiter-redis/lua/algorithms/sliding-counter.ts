import { partOf, type SlidingCounterBucket, type WindowLevel } from '#limiter';
import type { BucketCodec } from './codec.js';
import { windowLevelOf } from './windows.js';

export const slidingCounter: BucketCodec<SlidingCounterBucket, WindowLevel> = {
  name: 'sliding-counter',
  text: { suffixes: ['c'] },
  replyLength: 4,
  packTake(writer, { capacity, start, startedAtUs, parts, partUs }, cost) {
    writer.f64(cost, capacity, start.counts[0]!, startedAtUs, parts, partUs);
  },
  packGeneration(writer, { parts, partUs }) {
    writer.f64(parts, partUs);
  },
  levelOf: windowLevelOf,
  refundOf: (bucket, { cost, takenAtUs }) => [partOf(bucket, takenAtUs), cost, bucket.partUs],
};

import type { SlidingLogBucket, WindowLevel } from '#limiter';
import type { BucketCodec } from './codec.js';
import { windowLevelOf } from './windows.js';

export const slidingLog: BucketCodec<SlidingLogBucket, WindowLevel> = {
  name: 'sliding-log',
  text: { prefix: 'l' },
  replyLength: 4,
  packTake(writer, { capacity, start, startedAtUs, windowUs }, cost) {
    writer.f64(cost, capacity, start.entries[0]?.takenUntil ?? 0, startedAtUs, windowUs);
  },
  packGeneration(writer, { windowUs }) {
    writer.f64(windowUs);
  },
  levelOf: windowLevelOf,
  refundOf: (_bucket, { cost, takenAtUs }) => [takenAtUs, cost],
};

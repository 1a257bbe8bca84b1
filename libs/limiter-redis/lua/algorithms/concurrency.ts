import type { ConcurrencyBucket, WindowLevel } from '#limiter';
import type { BucketCodec } from './codec.js';
import { windowLevelOf } from './windows.js';

export const concurrency: BucketCodec<ConcurrencyBucket, WindowLevel> = {
  name: 'concurrency',
  text: { prefix: 'c' },
  replyLength: 4,
  packTake(writer, { capacity, slotTimeoutUs }, cost) {
    // The name of the slot is another one in each request: it is filled in then.
    writer.f64(cost, capacity, 0, slotTimeoutUs);
  },
  packGeneration(writer, { slotTimeoutUs }) {
    writer.f64(slotTimeoutUs);
  },
  levelOf: windowLevelOf,
  refundOf: (_bucket, { slot }) => [slot],
  slotAt: 16,
};

import type { ConcurrencyBucket, WindowLevel } from '#limiter';
import type { BucketCodec } from './codec.js';
import { windowLevelOf } from './windows.js';

export const concurrency: BucketCodec<ConcurrencyBucket, WindowLevel> = {
  name: 'concurrency',
  text: { prefix: 'c' },
  replyLength: 4,
  packTake(writer, { capacity, slotTimeoutUs }, cost) {
    // The name of the request is filled in for each request.
    writer.f64(cost, capacity, 0, slotTimeoutUs);
  },
  packGeneration(writer, { slotTimeoutUs }) {
    writer.f64(slotTimeoutUs);
  },
  levelOf: windowLevelOf,
  refundOf: (_bucket, { holder }) => [holder],
  holderAt: 16,
};

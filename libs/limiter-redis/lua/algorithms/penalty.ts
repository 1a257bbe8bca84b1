import type { PenaltyBucket, PenaltyLevel } from '#limiter';
import type { BucketCodec } from './codec.js';

export const penalty: BucketCodec<PenaltyBucket, PenaltyLevel> = {
  name: 'penalty',
  text: { suffixes: ['p'] },
  replyLength: 2,
  packTake(writer, { capacity, windowUs, blockUs, watches }, cost, _nowUs, untold) {
    writer.f64(untold ? -untold.count : cost, capacity, windowUs, blockUs, untold?.sinceUs ?? watches);
  },
  packGeneration() {},
  levelOf: (reply, position) => ({ blockedUs: reply[position]!, refusals: reply[position + 1]! }),
  refundOf: () => undefined,
};

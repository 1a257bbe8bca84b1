import { greedyBackAt, greedyCost, spanOf, type Bucket, type BucketGeneration, type GreedyBucket, type GreedyLevel } from '#limiter';
import type { BucketCodec } from './codec.js';

export const greedy: BucketCodec<GreedyBucket, GreedyLevel> = {
  name: 'greedy',
  text: { suffixes: ['', 'f'] },
  replyLength: 1,
  fits: needsWholeMicroseconds,
  packTake(writer, bucket, cost) {
    writer.f64(greedyCost(bucket, cost).whole, bucket.full.whole);
  },
  packGeneration(writer, { rate }) {
    writer.f64(rate.n, rate.intervalUs);
  },
  withheldOf({ rate, withheld }: GreedyBucket & Bucket) {
    const { whole, part } = spanOf(withheld, rate);
    return [whole, part];
  },
  levelOf: (reply, position) => ({ debtUs: reply[position]!, part: 0 }),
  refundOf(bucket, past) {
    // A surplus that was spent stays spent.
    if (past.level.debtUs < 0) return undefined;
    const back = greedyBackAt(bucket, past);
    const cost = greedyCost(bucket, past.cost);
    return [back.whole, back.part, cost.whole, cost.part, bucket.rate.n, bucket.maxWaitUs === undefined ? 0 : 1];
  },
};

/** And a missing bucket is a full one, nobody waits, and nobody has to leave anything: the short way of take.lua knows none of it. */
function needsWholeMicroseconds({ rate, missingAtStart, maxWaitUs, withheld }: GreedyBucket & BucketGeneration): boolean {
  return rate.n === 1 && missingAtStart.whole === 0 && missingAtStart.part === 0 && maxWaitUs === undefined && withheld === 0;
}

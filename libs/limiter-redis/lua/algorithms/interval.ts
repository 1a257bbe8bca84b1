import { stepOf, stepsToFull, stillOwed, type IntervalBucket, type IntervalLevel, type PastTake } from '#limiter';
import type { ByteWriter } from '../../src/connection/byte-writer.js';
import type { BucketCodec } from './codec.js';

export const interval: BucketCodec<IntervalBucket, IntervalLevel> = {
  name: 'interval',
  text: { suffixes: ['i'] },
  replyLength: 2,
  packTake(writer, bucket, cost, nowUs) {
    writer.f64(cost, bucket.capacity, bucket.start.tokens, bucket.startedAtUs, bucket.refillTokens, signedIntervalUs(bucket));
    if (!followsCalendar(bucket)) return;
    writer.f64(bucket.start.steppedAtUs, ...longestSteps(bucket));
    packStepsOfNow(writer, bucket, nowUs);
  },
  packGeneration(writer, generation, nowUs, nextStartedAtUs) {
    writer.f64(generation.refillTokens, signedIntervalUs(generation));
    if (!followsCalendar(generation)) return;
    writer.f64(generation.windows!.around(generation.startedAtUs).startUs);
    packStepsOfNow(writer, generation, nowUs);
    packSteps(writer, stepsUntil(generation, nextStartedAtUs, stepsToFull(generation)));
  },
  levelOf(reply, position, atUs) {
    const sinceStepUs = reply[position + 1]!;
    return { tokens: reply[position]!, steppedAtUs: atUs - sinceStepUs, sinceStepUs };
  },
  refundOf(bucket, past, nowUs) {
    // A surplus that was spent stays spent.
    if (past.level.tokens > bucket.capacity) return undefined;
    if (followsCalendar(bucket)) return calendarRefund(bucket, past, nowUs);
    return [stepOf(past), past.cost, bucket.capacity, bucket.refillTokens, signedIntervalUs(bucket)];
  },
  calendarWindow: (bucket, nowUs) => (followsCalendar(bucket) ? bucket.windows!.around(nowUs) : undefined),
};

function followsCalendar({ intervalUs }: IntervalBucket): boolean {
  return intervalUs === 0;
}

/** The interval of steps; negative if they are aligned to the clock, 0 with a calendar. */
function signedIntervalUs({ windows, intervalUs }: IntervalBucket): number {
  return windows === undefined ? intervalUs : 0 - intervalUs;
}

const HOUR_US = 3_600_000_000;

/** The longest that it is from one step of a calendar to the next, and by how much clocks may change meanwhile, dates left out included. */
function longestSteps({ longestUs = 0 }: IntervalBucket): [number, number] {
  return [longestUs, longestUs > HOUR_US ? 26 * HOUR_US : 0];
}

/** As many steps as fill the bucket, up to now, one more in case the server's clock is behind, the next one, and the one after that. */
function packStepsOfNow(writer: ByteWriter, bucket: IntervalBucket, nowUs: number): void {
  const { endUs } = bucket.windows!.around(nowUs);
  packSteps(writer, [...stepsUntil(bucket, nowUs, stepsToFull(bucket) + 1), endUs, bucket.windows!.around(endUs).endUs]);
}

/** The last steps up to an instant, the oldest first. */
function stepsUntil({ windows }: IntervalBucket, atUs: number, count: number): number[] {
  const steps: number[] = [];
  for (let { startUs } = windows!.around(atUs); steps.length < count; { startUs } = windows!.around(startUs - 1)) steps.push(startUs);
  return steps.reverse();
}

function packSteps(writer: ByteWriter, steps: readonly number[]): void {
  writer.u8(steps.length);
  writer.f64(...steps);
}

/** What is still owed now, and until when that is known: the next step, which brings more of it back, and the one after that. */
function calendarRefund(bucket: IntervalBucket, past: PastTake<IntervalLevel>, nowUs: number): readonly number[] | undefined {
  const owed = stillOwed(bucket, past, nowUs);
  if (owed <= 0) return undefined;
  const nextUs = bucket.windows!.around(Math.max(nowUs, stepOf(past))).endUs;
  return [nextUs, owed, bucket.capacity, bucket.refillTokens, 0, bucket.windows!.around(nextUs).endUs];
}

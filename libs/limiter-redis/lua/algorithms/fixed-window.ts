import { opensWindow, windowOfTake, type FixedWindowBucket, type WindowLevel } from '#limiter';
import type { ByteWriter } from '../../src/connection/byte-writer.js';
import type { BucketCodec } from './codec.js';
import { windowLevelOf } from './windows.js';

export const fixedWindow: BucketCodec<FixedWindowBucket, WindowLevel> = {
  name: 'fixed-window',
  text: { suffixes: ['w'] },
  replyLength: 4,
  packTake(writer, bucket, cost, nowUs) {
    writer.f64(cost, bucket.capacity, bucket.start.used, bucket.startedAtUs, signedLengthUs(bucket));
    if (!followsCalendar(bucket)) return;
    writer.f64(bucket.start.startUs);
    packBoundaries(writer, bucket, nowUs);
  },
  packGeneration(writer, generation, nowUs, nextStartedAtUs) {
    writer.f64(signedLengthUs(generation));
    if (!followsCalendar(generation)) return;
    const { windows, startedAtUs } = generation;
    writer.f64(windows.around(startedAtUs).startUs, windows.around(nextStartedAtUs).startUs);
    packBoundaries(writer, generation, nowUs);
  },
  levelOf: windowLevelOf,
  refundOf(bucket, past) {
    const startUs = windowOfTake(bucket, past);
    return [startUs, past.cost, opensWindow(bucket, startUs, past.takenAtUs) ? 1 : 0];
  },
  calendarWindow: (bucket, nowUs) => (followsCalendar(bucket) ? bucket.windows.around(nowUs) : undefined),
};

function followsCalendar({ windows }: FixedWindowBucket): boolean {
  return windows.lengthUs === 0;
}

/** The length of windows; negative if the first request opens one. */
function signedLengthUs({ windows, startsWith }: FixedWindowBucket): number {
  return startsWith === 'first_request' ? -windows.lengthUs : windows.lengthUs;
}

/** Where the window of an instant and those beside it begin and end. */
function packBoundaries(writer: ByteWriter, { windows }: FixedWindowBucket, nowUs: number): void {
  const { startUs, endUs } = windows.around(nowUs);
  writer.f64(windows.around(startUs - 1).startUs, startUs, endUs, windows.around(endUs).endUs);
}

import type { Bucket, BucketGeneration, BucketLevel, BucketNumbers, PastTake, UntoldRefusals, WindowBounds } from '#limiter';
import type { ByteWriter } from '../../src/connection/byte-writer.js';

/**
 * How the scripts are told of a bucket, and how they answer: the counterpart of the Lua file of the same name, whose head says what the
 * numbers are.
 */
export interface BucketCodec<Numbers extends BucketNumbers = BucketNumbers, Level = BucketLevel> {
  /** Of both files. */
  readonly name: string;
  /** How a stored bucket is recognised: by the letters that may stand behind its digits, or by the one in front of a packed state. */
  readonly text: { readonly suffixes: readonly string[] } | { readonly prefix: string };
  /** How many numbers stand in a reply. */
  readonly replyLength: 1 | 2 | 4;
  /** Whether it is for this bucket. Missing where it is for all of the kind. */
  fits?(bucket: Numbers & BucketGeneration): boolean;
  /** Two f64 at least. */
  packTake(writer: ByteWriter, bucket: Numbers & Bucket, cost: number, nowUs: number, untold?: UntoldRefusals): void;
  /** The numbers of a limit from one edit to the next, which came into force at `nextStartedAtUs`. */
  packGeneration(writer: ByteWriter, generation: Numbers & BucketGeneration, nowUs: number, nextStartedAtUs: number): void;
  /** What a request has to leave of the bucket, in the two numbers by which `leaving` in Lua reads it; where it is missing, tokens and 0. */
  withheldOf?(bucket: Numbers & Bucket): readonly [number, number];
  /** What a bucket held, from the numbers of a reply at a position. `atUs` is the time of the reply. */
  levelOf(reply: readonly number[], position: number, atUs: number): Level;
  /** What gives back a request that passed; undefined if there is nothing to give back. Six numbers at most. */
  refundOf(bucket: Numbers, past: PastTake<Level>, nowUs: number): readonly number[] | undefined;
  /** The window of the calendar that a packed take is good for. Redis knows nothing of time zones. */
  calendarWindow?(bucket: Numbers, nowUs: number): WindowBounds | undefined;
  /** For buckets that hold slots: at which byte of a packed take the name of the request stands, behind kind, index and generation. */
  readonly holderAt?: number;
}

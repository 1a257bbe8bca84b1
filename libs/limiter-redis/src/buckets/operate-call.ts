import type { BucketLevel, BucketOperation, BucketTake } from '#limiter';
import { ByteWriter } from '../connection/byte-writer.js';
import type { PackedArguments } from '../connection/packed-command.js';
import { packTakes, problemOf, TakeReply } from './take-call.js';

/** The wire format of lua/operate.lua: one call for one bucket. */

const ARGUMENTS = 2;
const writer = new ByteWriter(64);

/**
 * @param take the bucket, as a request would ask it; its cost is what is added or taken
 * @param withFormer whether Redis has asked for the former numbers
 * @param nowMs @param clock as for a take
 */
export function packOperation(
  take: BucketTake,
  operation: BucketOperation,
  withFormer: boolean,
  nowMs: number,
  clock: 'given' | 'of server',
): PackedArguments {
  const bucket = packTakes([{ takes: [take], holder: 0, spare: false, withFormer }], nowMs, clock);
  writer.clear();
  writer.frame(nameOf(operation));
  writer.frame(operation.kind === 'block' ? String(operation.forMs * 1000) : '');
  return { ...bucket, argumentCount: bucket.argumentCount + ARGUMENTS, frames: [...bucket.frames, writer.written()] };
}

/** The tokens that an operation adds or takes; 0 for one that does neither. `packOperation` is given them as the cost of the take. */
export function tokensOf(operation: BucketOperation): number {
  return operation.kind === 'adjust' ? Math.abs(operation.tokens) : 0;
}

function nameOf(operation: BucketOperation): string {
  if (operation.kind !== 'adjust') return operation.kind;
  return operation.tokens > 0 ? 'add' : 'take';
}

export class OperationReply {
  constructor(private readonly numbers: readonly number[]) {}

  /** `stale` for outdated numbers, `again` if Redis wants more of them: nothing was done. */
  get problem(): 'stale' | 'again' | undefined {
    return problemOf(this.numbers[0]);
  }

  /** What the bucket holds beneath a block; until when another cost would pass is not to be read from it. */
  level(take: BucketTake): BucketLevel {
    return (new TakeReply(this.numbers.slice(1)).next([take]) as BucketLevel[])[0]!;
  }

  get blockedForUs(): number {
    return this.numbers[0]!;
  }

  /** When it was, by the clock of the server, in microseconds; negative if Redis was full, and nothing was written. */
  get atUs(): number {
    return this.numbers.at(-1)!;
  }
}

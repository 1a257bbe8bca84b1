import { GENERATIONS, greedyCost, type BucketLevel, type BucketTake, type FormerBucket, type GreedyBucket, type TokenBucket } from '#limiter';
import type { PackedArguments } from './packed-command.js';
import { ByteWriter } from './byte-writer.js';
import { BUCKET_PREFIX } from './redis-keys.js';

/** The wire format of lua/take.lua: one call for many requests. */

const KIND = { greedy: 0, greedyWithParts: 1, interval: 2 } as const;
const HISTORY = 32;
const MORE = 64;
const STALE = -9000000000000000;

/**
 * A take as it stands in a call: the key's frame, then the packed bucket. Made once for takes that are asked again and again,
 * and in one piece: at random merchants, what counts is how many places of the memory have to be visited.
 */
class Wire {
  constructor(
    readonly bytes: Uint8Array,
    readonly frameLength: number,
    readonly kind: number,
  ) {}
}

const END = Buffer.from('\r\n');

/** Used again for every call; nothing is awaited while one is packed. */
const frames = new ByteWriter(8192);
const buckets = new ByteWriter(8192);

/** Packs requests. Keys are named once however many requests ask for them. */
export function packTakes(requests: readonly { readonly takes: readonly BucketTake[] }[], now: string): PackedArguments {
  const indexes = new Map<string, number>();
  frames.clear();
  buckets.clear();
  for (const { takes } of requests) {
    const last = takes.length - 1;
    for (let i = 0; i <= last; i++) {
      const take = takes[i]!;
      const wire = wireOf(take);
      let index = indexes.get(take.key);
      if (index === undefined) {
        index = indexes.size + 1;
        indexes.set(take.key, index);
        frames.copy(wire.bytes, 0, wire.frameLength);
      }
      const at = buckets.copy(wire.bytes, wire.frameLength, wire.bytes.length);
      if (i < last) buckets.bytes[at]! |= MORE;
      buckets.bytes[at + 1] = index & 0xff;
      buckets.bytes[at + 2] = index >> 8;
    }
  }
  frames.frame(now);
  frames.ascii(`$${buckets.length}\r\n`);
  const firstKey = BUCKET_PREFIX + (requests[0]?.takes[0]?.key ?? '');
  return { firstKey, keyCount: indexes.size, argumentCount: 2, frames: [frames.written(), buckets.written(), END] };
}

function wireOf(take: BucketTake): Wire {
  if (take.memo instanceof Wire) return take.memo;
  const writer = new ByteWriter(256);
  writer.frame(BUCKET_PREFIX + take.key);
  const frameLength = writer.length;
  packTake(writer, take);
  return (take.memo = new Wire(new Uint8Array(writer.written()), frameLength, kindOf(take.bucket)));
}

function packTake(writer: ByteWriter, { bucket, cost }: BucketTake): void {
  const hasHistory = bucket.former.length > 0;
  writer.u8(kindOf(bucket) + (hasHistory ? HISTORY : 0));
  writer.u16(0);
  writer.u16(bucket.generation % GENERATIONS);
  if (bucket.refill === 'interval') {
    writer.f64(cost, bucket.capacity, bucket.start.tokens, bucket.refillTokens, bucket.intervalUs, bucket.start.steppedAtUs);
  } else {
    const { full, start, rate, surplusUs } = bucket;
    const price = greedyCost(bucket, cost);
    writer.f64(price.whole, full.whole, start.whole);
    if (!isPlain(bucket)) writer.f64(rate.n, price.part, full.part, start.part, surplusUs);
  }
  if (!hasHistory) return;
  writer.u8(bucket.former.length + 1);
  for (const former of bucket.former) packGeneration(writer, former);
  packGeneration(writer, bucket);
}

function packGeneration(writer: ByteWriter, bucket: FormerBucket): void {
  writer.u16(bucket.generation % GENERATIONS);
  if (bucket.refill === 'interval') {
    writer.u8(1);
    writer.f64(bucket.capacity, bucket.refillTokens, bucket.intervalUs, bucket.startedAtUs);
  } else {
    writer.u8(0);
    writer.f64(bucket.capacity, bucket.rate.n, bucket.rate.intervalUs, bucket.startedAtUs);
  }
}

function kindOf(bucket: TokenBucket): number {
  if (bucket.refill === 'interval') return KIND.interval;
  return isPlain(bucket) ? KIND.greedy : KIND.greedyWithParts;
}

/** Whole microseconds will do. */
function isPlain(bucket: GreedyBucket): boolean {
  return bucket.rate.n === 1 && bucket.surplusUs === 0;
}

/** Reads a reply, request by request, in the order in which they were packed. */
export class TakeReply {
  private position = 0;

  constructor(private readonly numbers: readonly number[]) {}

  /** `undefined` for a request that came with outdated numbers. */
  next(takes: readonly BucketTake[]): BucketLevel[] | undefined {
    const stale = this.numbers[this.position] === STALE;
    // A literal: an array that is pushed to makes room for seventeen.
    const levels = takes.length === 1 ? [this.level(takes[0]!)] : takes.map((take) => this.level(take));
    return stale ? undefined : levels;
  }

  private level({ memo }: BucketTake): BucketLevel {
    const { kind } = memo as Wire;
    const first = this.numbers[this.position++]!;
    if (kind === KIND.greedy) return { debtUs: first, part: 0 };
    const second = this.numbers[this.position++]!;
    return kind === KIND.interval ? { tokens: first, sinceStepUs: second } : { debtUs: first, part: second };
  }
}

import { GENERATIONS, greedyCost, type BucketLevel, type BucketTake, type FormerBucket, type GreedyBucket, type TokenBucket } from '#limiter';

/** The wire format of lua/take.lua: one call for many requests. */

const HISTORY = 8;
const STALE = -9000000000000000;

export interface TakeCall {
  readonly keys: string[];
  readonly requests: Buffer;
}

/** Packs requests. Keys are named once however many requests ask for them. */
export function encodeTakes(requests: readonly (readonly BucketTake[])[], keyPrefix: string): TakeCall {
  const keys: string[] = [];
  const indexes = new Map<string, number>();
  const writer = new Writer();
  for (const takes of requests) {
    writer.u8(takes.length);
    for (const take of takes) {
      let index = indexes.get(take.key);
      if (index === undefined) {
        index = keys.push(keyPrefix + take.key);
        indexes.set(take.key, index);
      }
      encodeTake(writer, take, index);
    }
  }
  return { keys, requests: writer.bytes() };
}

function encodeTake(writer: Writer, { bucket, cost }: BucketTake, keyIndex: number): void {
  const history = bucket.former.length > 0 ? HISTORY : 0;
  const generation = bucket.generation % GENERATIONS;
  writer.reserve();
  writer.u8(kindOf(bucket) + history);
  writer.u16(keyIndex);
  writer.u16(generation);
  if (bucket.refill === 'interval') {
    writer.f64(cost);
    writer.f64(bucket.capacity);
    writer.f64(bucket.refillTokens);
    writer.f64(bucket.intervalUs);
    writer.f64(bucket.start.tokens);
    writer.f64(bucket.start.steppedAtUs);
  } else {
    const price = greedyCost(bucket, cost);
    writer.f64(price.whole);
    writer.f64(bucket.full.whole);
    writer.f64(bucket.start.whole);
    if (!isPlain(bucket)) {
      writer.f64(bucket.rate.n);
      writer.f64(price.part);
      writer.f64(bucket.full.part);
      writer.f64(bucket.start.part);
      writer.f64(bucket.surplusUs);
    }
  }
  if (history) {
    writer.u8(bucket.former.length + 1);
    for (const former of bucket.former) encodeGeneration(writer, former);
    encodeGeneration(writer, bucket);
  }
}

function encodeGeneration(writer: Writer, bucket: FormerBucket): void {
  writer.reserve();
  writer.u16(bucket.generation % GENERATIONS);
  writer.u8(bucket.refill === 'interval' ? 1 : 0);
  writer.f64(bucket.capacity);
  writer.f64(bucket.refill === 'interval' ? bucket.refillTokens : bucket.rate.n);
  writer.f64(bucket.refill === 'interval' ? bucket.intervalUs : bucket.rate.intervalUs);
  writer.f64(bucket.startedAtUs);
}

function kindOf(bucket: TokenBucket): number {
  return bucket.refill === 'interval' ? 2 : isPlain(bucket) ? 0 : 1;
}

/** Whole microseconds will do. */
function isPlain(bucket: GreedyBucket): boolean {
  return bucket.rate.n === 1 && bucket.surplusUs === 0;
}

/** Reads the reply, request by request; `undefined` for one that came with outdated numbers. */
export function decodeTakes(requests: readonly (readonly BucketTake[])[], reply: readonly number[]): (BucketLevel[] | undefined)[] {
  let position = 0;
  return requests.map((takes) => {
    const stale = reply[position] === STALE;
    const levels = takes.map(({ bucket }) => {
      if (bucket.refill === 'interval') return { tokens: reply[position++]!, sinceStepUs: reply[position++]! };
      return { debtUs: reply[position++]!, part: isPlain(bucket) ? 0 : reply[position++]! };
    });
    return stale ? undefined : levels;
  });
}

class Writer {
  private buffer = Buffer.allocUnsafe(4096);
  private length = 0;

  /** Makes room for one bucket or generation and the count before the next. */
  reserve(): void {
    if (this.length + 128 > this.buffer.length) this.buffer = Buffer.concat([this.buffer], this.buffer.length * 2);
  }

  u8(value: number): void {
    this.buffer[this.length++] = value;
  }

  u16(value: number): void {
    this.length = this.buffer.writeUInt16LE(value, this.length);
  }

  f64(value: number): void {
    this.length = this.buffer.writeDoubleLE(value, this.length);
  }

  bytes(): Buffer {
    return this.buffer.subarray(0, this.length);
  }
}

import { GENERATIONS, greedyCost, type BucketLevel, type BucketTake, type FormerBucket, type GreedyBucket, type TokenBucket } from '#limiter';

/** The wire format of lua/take.lua: one call for many requests. */

const HISTORY = 32;
const MORE = 64;
const STALE = -9000000000000000;

/** The most that one bucket or one generation takes up in a packed call. */
const LARGEST_ENTRY = 128;

export interface TakeCall {
  /** Each key once, in the order of KEYS. */
  readonly keys: string[];
  /** The packed requests. */
  readonly requests: Buffer;
}

/** Grows to the largest call so far, and is used again for the next one. */
let scratch = Buffer.alloc(16_384);
let view = new DataView(scratch.buffer, scratch.byteOffset, scratch.length);
let length = 0;

/** Packs requests. Keys are named once however many requests ask for them. */
export function encodeTakes(requests: readonly (readonly BucketTake[])[], keyPrefix: string): TakeCall {
  const keys: string[] = [];
  const indexes = new Map<string, number>();
  length = 0;
  for (const takes of requests) {
    const last = takes.length - 1;
    for (let i = 0; i <= last; i++) {
      const take = takes[i]!;
      let index = indexes.get(take.key);
      if (index === undefined) {
        index = keys.push(keyPrefix + take.key);
        indexes.set(take.key, index);
      }
      encodeTake(take, index, i < last ? MORE : 0);
    }
  }
  return { keys, requests: Buffer.from(scratch.subarray(0, length)) };
}

function encodeTake({ bucket, cost }: BucketTake, keyIndex: number, more: number): void {
  makeRoom();
  const history = bucket.former.length > 0 ? HISTORY : 0;
  u8(kindOf(bucket) + history + more);
  u16(keyIndex);
  u16(bucket.generation % GENERATIONS);
  if (bucket.refill === 'interval') {
    f64(cost);
    f64(bucket.capacity);
    f64(bucket.start.tokens);
    f64(bucket.refillTokens);
    f64(bucket.intervalUs);
    f64(bucket.start.steppedAtUs);
  } else {
    const price = greedyCost(bucket, cost);
    f64(price.whole);
    f64(bucket.full.whole);
    f64(bucket.start.whole);
    if (!isPlain(bucket)) {
      f64(bucket.rate.n);
      f64(price.part);
      f64(bucket.full.part);
      f64(bucket.start.part);
      f64(bucket.surplusUs);
    }
  }
  if (history) {
    u8(bucket.former.length + 1);
    for (const former of bucket.former) encodeGeneration(former);
    encodeGeneration(bucket);
  }
}

function encodeGeneration(bucket: FormerBucket): void {
  makeRoom();
  u16(bucket.generation % GENERATIONS);
  u8(bucket.refill === 'interval' ? 1 : 0);
  f64(bucket.capacity);
  f64(bucket.refill === 'interval' ? bucket.refillTokens : bucket.rate.n);
  f64(bucket.refill === 'interval' ? bucket.intervalUs : bucket.rate.intervalUs);
  f64(bucket.startedAtUs);
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

function makeRoom(): void {
  if (length + LARGEST_ENTRY <= scratch.length) return;
  scratch = Buffer.concat([scratch], scratch.length * 2);
  view = new DataView(scratch.buffer, scratch.byteOffset, scratch.length);
}

function u8(value: number): void {
  scratch[length++] = value;
}

function u16(value: number): void {
  view.setUint16(length, value, true);
  length += 2;
}

function f64(value: number): void {
  view.setFloat64(length, value, true);
  length += 8;
}

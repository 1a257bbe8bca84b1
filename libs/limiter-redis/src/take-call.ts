import {
  GENERATIONS, greedyCost, mostTokens, ON_EDITS, standsAside,
  type Bucket, type BucketLevel, type BucketTake, type FixedWindowBucket, type FormerBucket, type GreedyBucket, type WindowBounds,
} from '#limiter';
import type { PackedArguments } from './packed-command.js';
import { ByteWriter } from './byte-writer.js';
import { BUCKET_PREFIX } from './redis-keys.js';

/** The wire format of lua/take.lua: one call for many requests. */

const KIND = { greedy: 0, greedyWithParts: 1, interval: 2, fixed_window: 3, sliding_counter: 4, sliding_log: 5, concurrency: 6, queue: 7, penalty: 8 } as const;
/** Numbers in the reply, by kind. */
const NUMBERS = [1, 2, 2, 4, 4, 4, 4, 2, 2] as const;
/** Where the name of the slot stands in a packed bucket of a concurrency limit. */
const SLOT_AT = 29;
/** The bucket has no say if it has nothing left. */
const ASIDE = 16;
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
    /** The window of the calendar that it was packed in: in another one it has to be packed anew. */
    readonly window: WindowBounds | undefined,
  ) {}
}

const END = Buffer.from('\r\n');

/** Used again for every call; nothing is awaited while one is packed. */
const frames = new ByteWriter(8192);
const buckets = new ByteWriter(8192);

/**
 * Packs requests. Keys are named once however many requests ask for them.
 *
 * @param clock whether `nowMs` replaces the clock of the server
 */
export function packTakes(requests: readonly { readonly takes: readonly BucketTake[]; readonly slot: number; readonly spare: boolean }[], nowMs: number, clock: 'given' | 'of server'): PackedArguments {
  const indexes = new Map<string, number>();
  frames.clear();
  buckets.clear();
  for (const { takes, slot, spare } of requests) {
    const last = takes.length - 1;
    for (let i = 0; i <= last; i++) {
      const take = takes[i]!;
      const wire = wireOf(take, nowMs);
      let index = indexes.get(take.key);
      if (index === undefined) {
        index = indexes.size + 1;
        indexes.set(take.key, index);
        frames.copy(wire.bytes, 0, wire.frameLength);
      }
      const at = buckets.copy(wire.bytes, wire.frameLength, wire.bytes.length);
      if (i < last) buckets.bytes[at]! |= MORE;
      // Of a single bucket the caller knows by itself that it has no say.
      if (last > 0 && standsAside(take.bucket, spare)) buckets.bytes[at]! |= ASIDE;
      buckets.bytes[at + 1] = index & 0xff;
      buckets.bytes[at + 2] = index >> 8;
      if (wire.kind === KIND.concurrency) buckets.f64At(at + SLOT_AT, slot);
    }
  }
  frames.frame(clock === 'given' ? String(Math.round(nowMs * 1000)) : '');
  frames.ascii(`$${buckets.length}\r\n`);
  const firstKey = BUCKET_PREFIX + (requests[0]?.takes[0]?.key ?? '');
  return { firstKey, keyCount: indexes.size, argumentCount: 2, frames: [frames.written(), buckets.written(), END] };
}

function wireOf(take: BucketTake, nowMs: number): Wire {
  const window = calendarWindow(take.bucket, nowMs);
  if (take.memo instanceof Wire && take.memo.window === window) return take.memo;
  const writer = new ByteWriter(256);
  writer.frame(BUCKET_PREFIX + take.key);
  const frameLength = writer.length;
  packTake(writer, take, window);
  return (take.memo = new Wire(new Uint8Array(writer.written()), frameLength, kindOf(take.bucket), window));
}

/** Redis knows nothing of time zones: it is told where the window of now begins and ends, and those beside it. */
function calendarWindow(bucket: Bucket, nowMs: number): WindowBounds | undefined {
  return bucket.kind === 'fixed_window' && bucket.windows.lengthUs === 0 ? bucket.windows.around(nowMs * 1000) : undefined;
}

function packTake(writer: ByteWriter, { bucket, cost }: BucketTake, window: WindowBounds | undefined): void {
  const hasHistory = bucket.former.length > 0;
  writer.u8(kindOf(bucket) + (hasHistory ? HISTORY : 0));
  writer.u16(0);
  writer.u16(bucket.generation % GENERATIONS);
  packNumbers(writer, bucket, cost, window);
  if (!hasHistory) return;
  const generations = [...bucket.former, bucket];
  writer.u8(generations.length);
  generations.forEach((generation, i) => packGeneration(writer, generation, generations[i + 1]));
}

function packNumbers(writer: ByteWriter, bucket: Bucket, cost: number, window: WindowBounds | undefined): void {
  switch (bucket.kind) {
    case 'greedy': {
      const { full, start, rate, surplusUs } = bucket;
      const price = greedyCost(bucket, cost);
      writer.f64(price.whole, full.whole, start.whole);
      if (!isPlain(bucket)) writer.f64(rate.n, price.part, full.part, start.part, surplusUs);
      if (bucket.maxWaitUs !== undefined) writer.f64(bucket.maxWaitUs);
      return;
    }
    case 'interval':
      writer.f64(cost, bucket.capacity, bucket.start.tokens, bucket.refillTokens, bucket.intervalUs, bucket.start.steppedAtUs);
      return;
    case 'fixed_window':
      writer.f64(cost, bucket.limit, bucket.start.used, bucket.start.startUs, signedLength(bucket));
      if (window) writer.f64(bucket.windows.around(window.startUs - 1).startUs, window.startUs, window.endUs, bucket.windows.around(window.endUs).endUs);
      return;
    case 'sliding_counter':
      writer.f64(cost, bucket.limit, bucket.start.counts[0]!, bucket.start.startUs, bucket.parts, bucket.partUs);
      return;
    case 'sliding_log': {
      const [entry] = bucket.start.entries;
      writer.f64(cost, bucket.limit, entry?.takenUntil ?? 0, entry?.atUs ?? 0, bucket.windowUs);
      return;
    }
    case 'concurrency':
      writer.f64(cost, bucket.limit, 0, 0, bucket.slotTimeoutUs);
      return;
    case 'penalty':
      writer.f64(cost, bucket.refusals, 0, bucket.windowUs, bucket.blockUs, bucket.watches);
  }
}

/** The length of windows; negative if the first request opens one. */
function signedLength({ windows, startsWith }: FixedWindowBucket): number {
  return startsWith === 'first_request' ? -windows.lengthUs : windows.lengthUs;
}

function packGeneration(writer: ByteWriter, bucket: FormerBucket, next: FormerBucket | undefined): void {
  writer.u16(bucket.generation % GENERATIONS);
  writer.u8(kindOf(bucket));
  writer.u8(ON_EDITS.indexOf(bucket.onEdit));
  writer.f64(mostTokens(bucket), ...numbersOfKind(bucket), bucket.startedAtUs);
  if (bucket.kind === 'fixed_window') {
    writer.f64(bucket.windows.around(bucket.startedAtUs).startUs, bucket.windows.around(next?.startedAtUs ?? bucket.startedAtUs).startUs);
  } else {
    writer.f64(0, 0);
  }
}

function numbersOfKind(bucket: FormerBucket): [number, number] {
  switch (bucket.kind) {
    case 'greedy':
      return [bucket.rate.n, bucket.rate.intervalUs];
    case 'interval':
      return [bucket.refillTokens, bucket.intervalUs];
    case 'fixed_window':
      return [signedLength(bucket), 0];
    case 'sliding_counter':
      return [bucket.parts, bucket.partUs];
    case 'sliding_log':
      return [bucket.windowUs, 0];
    case 'concurrency':
      return [bucket.slotTimeoutUs, 0];
    case 'penalty':
      return [0, 0];
  }
}

/** How the scripts call what a bucket is. */
export function kindOf(bucket: FormerBucket): number {
  if (bucket.kind !== 'greedy' || isPlain(bucket)) return KIND[bucket.kind];
  return bucket.maxWaitUs === undefined ? KIND.greedyWithParts : KIND.queue;
}

/** Whole microseconds will do. */
function isPlain(bucket: GreedyBucket): boolean {
  return bucket.rate.n === 1 && bucket.surplusUs === 0 && bucket.maxWaitUs === undefined;
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

  /** When it was, by the clock of the server, in microseconds. */
  get atUs(): number {
    return this.numbers.at(-1)!;
  }

  private level({ memo }: BucketTake): BucketLevel {
    const { kind } = memo as Wire;
    const { numbers, position } = this;
    this.position += NUMBERS[kind]!;
    const first = numbers[position]!;
    if (kind === KIND.greedy) return { debtUs: first, part: 0 };
    const second = numbers[position + 1]!;
    if (kind === KIND.greedyWithParts || kind === KIND.queue) return { debtUs: first, part: second };
    if (kind === KIND.penalty) return { blockedUs: first, refusals: second };
    if (kind === KIND.interval) return { tokens: first, sinceStepUs: second };
    return { used: first, retryUs: second, resetUs: numbers[position + 2]!, resetAfterTakingUs: numbers[position + 3]! };
  }
}

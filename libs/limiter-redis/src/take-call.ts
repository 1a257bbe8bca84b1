import {
  generationsOf,
  greedyCost,
  isBypassed,
  isPenaltyTake,
  mostTokens,
  ON_EDITS,
  stepsToFull,
  type Bucket,
  type BucketLevel,
  type BucketTake,
  type FixedWindowBucket,
  type FormerBucket,
  type GreedyBucket,
  type IntervalBucket,
  type MakeTake,
  type TakeRequest,
  type UntoldRefusals,
  type WindowBounds,
} from '#limiter';
import type { PackedArguments } from './packed-command.js';
import { ByteWriter } from './byte-writer.js';
import { BUCKET_PREFIX } from './redis-keys.js';
import { FLAG, KIND, SENTINEL } from './wire.js';

/** The wire format of lua/take.lua: one call for many requests. */

/** Numbers in the reply, by kind. */
const NUMBERS = [1, 2, 2, 4, 4, 4, 4, 2, 2] as const;
/** Where the name of the request stands in a packed bucket of a concurrency limit. */
const HOLDER_AT = 23;

/** A request as it is packed. */
export interface AskedTakes extends TakeRequest {
  /** Whether Redis has asked for the former numbers: seldom, so they are not sent otherwise. */
  readonly withFormer: boolean;
}

/**
 * A take as it stands in a call: the key's frame, then the packed bucket. Made once for takes that are asked again and again,
 * and in one piece: at random merchants, what counts is how many places of the memory have to be visited. Half a kilobyte of
 * memory, so it is kept from the second time on: of a merchant that comes once there is nothing to keep.
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
 * @param nowMs what time it is at the server, as far as that is known here: by it the windows of calendars are chosen
 * @param clock whether `nowMs` replaces the clock of the server
 */
export function packTakes(requests: readonly AskedTakes[], nowMs: number, clock: 'given' | 'of server'): PackedArguments {
  const indexes = new Map<string, number>();
  frames.clear();
  buckets.clear();
  for (const { takes, holder, spare, withFormer } of requests) {
    const last = takes.length - 1;
    for (let i = 0; i <= last; i++) {
      const take = takes[i]!;
      const wire = withFormer ? newWire(take, nowMs, true) : wireOf(take, nowMs);
      let index = indexes.get(take.key);
      if (index === undefined) {
        index = indexes.size + 1;
        indexes.set(take.key, index);
        frames.copy(wire.bytes, 0, wire.frameLength);
      }
      const at = buckets.copy(wire.bytes, wire.frameLength, wire.bytes.length);
      if (i < last) buckets.bytes[at]! |= FLAG.more;
      // Of a single bucket the caller knows by itself that it is bypassed.
      if (last > 0 && isBypassed(take.bucket, spare)) buckets.bytes[at]! |= FLAG.noSay;
      buckets.bytes[at + 1] = index & 0xff;
      buckets.bytes[at + 2] = index >> 8;
      if (wire.kind === KIND.concurrency) buckets.f64At(at + HOLDER_AT, holder);
    }
  }
  frames.frame(clock === 'given' ? String(Math.round(nowMs * 1000)) : '');
  frames.ascii(`$${buckets.length}\r\n`);
  const firstKey = BUCKET_PREFIX + (requests[0]?.takes[0]?.key ?? '');
  return { firstKey, keyCount: indexes.size, argumentCount: 2, frames: [frames.written(), buckets.written(), END] };
}

function wireOf(take: BucketTake, nowMs: number): Wire {
  const window = calendarWindow(take.bucket, nowMs);
  const kept = take instanceof RedisTake ? take.kept : undefined;
  if (kept instanceof Wire && kept.window === window) return kept;
  const wire = newWire(take, nowMs, false);
  if (take instanceof RedisTake) take.kept = kept === undefined ? ASKED_ONCE : wire;
  return wire;
}

/** Instead of a wire. */
const ASKED_ONCE = Symbol('asked once');

/** A take that keeps how it is packed, for the next request that asks the same. */
class RedisTake<B extends Bucket> implements BucketTake {
  kept: Wire | typeof ASKED_ONCE | undefined;

  constructor(
    readonly key: string,
    readonly bucket: B,
    readonly cost: number,
  ) {}
}

/** For takes that many requests ask of a store in Redis. */
export const redisTake: MakeTake = (key, bucket, cost) => new RedisTake(key, bucket, cost);

function newWire(take: BucketTake, nowMs: number, withFormer: boolean): Wire {
  const { key, bucket, cost } = take;
  const writer = new ByteWriter(256);
  writer.frame(BUCKET_PREFIX + key);
  const frameLength = writer.length;
  const hasFormer = bucket.previous.length > 0;
  const nowUs = nowMs * 1000;
  writer.u8(kindOf(bucket) + (hasFormer ? FLAG.hasFormer + (withFormer ? FLAG.formerFollow : 0) : 0));
  writer.u16(0);
  writer.u32(bucket.generation);
  packNumbers(writer, bucket, cost, nowUs, isPenaltyTake(take) ? take.untold : undefined);
  if (hasFormer && withFormer) {
    const generations = generationsOf(bucket);
    writer.u8(generations.length);
    generations.forEach((generation, i) => packGeneration(writer, generation, generations[i + 1], nowUs));
  }
  return new Wire(new Uint8Array(writer.written()), frameLength, kindOf(bucket), calendarWindow(bucket, nowMs));
}

/** Redis knows nothing of time zones: it is told where the window of now begins and ends, and those beside it. */
function calendarWindow(bucket: Bucket, nowMs: number): WindowBounds | undefined {
  if (bucket.kind === 'interval' && bucket.intervalUs === 0) return bucket.windows!.around(nowMs * 1000);
  return bucket.kind === 'fixed_window' && hasCalendar(bucket) ? bucket.windows.around(nowMs * 1000) : undefined;
}

function hasCalendar({ windows }: FixedWindowBucket): boolean {
  return windows.lengthUs === 0;
}

function packNumbers(writer: ByteWriter, bucket: Bucket, cost: number, nowUs: number, untold?: UntoldRefusals): void {
  switch (bucket.kind) {
    case 'greedy': {
      const { full, start, rate, surplusUs } = bucket;
      const price = greedyCost(bucket, cost);
      writer.f64(price.whole, full.whole);
      if (!isPlain(bucket)) writer.f64(rate.n, price.part, full.part, start.whole, start.part, surplusUs, bucket.startedAtUs);
      if (bucket.maxWaitUs !== undefined) writer.f64(bucket.maxWaitUs);
      return;
    }
    case 'interval':
      writer.f64(cost, bucket.capacity, bucket.start.tokens, bucket.startedAtUs, bucket.refillTokens, signedInterval(bucket));
      if (bucket.intervalUs === 0) {
        writer.f64(bucket.start.steppedAtUs, ...longestSteps(bucket));
        packStepsOfNow(writer, bucket, nowUs);
      }
      return;
    case 'fixed_window':
      writer.f64(cost, bucket.limit, bucket.start.used, bucket.startedAtUs, signedLength(bucket));
      if (hasCalendar(bucket)) {
        writer.f64(bucket.start.startUs);
        packBoundaries(writer, bucket, nowUs);
      }
      return;
    case 'sliding_counter':
      writer.f64(cost, bucket.limit, bucket.start.counts[0]!, bucket.startedAtUs, bucket.parts, bucket.partUs);
      return;
    case 'sliding_log':
      writer.f64(cost, bucket.limit, bucket.start.entries[0]?.takenUntil ?? 0, bucket.startedAtUs, bucket.windowUs);
      return;
    case 'concurrency':
      writer.f64(cost, bucket.limit, 0, bucket.slotTimeoutUs);
      return;
    case 'penalty':
      writer.f64(untold ? -untold.count : cost, bucket.refusals, bucket.windowUs, bucket.blockUs, untold?.sinceUs ?? bucket.watches);
  }
}

/** The length of windows; negative if the first request opens one. */
function signedLength({ windows, startsWith }: FixedWindowBucket): number {
  return startsWith === 'first_request' ? -windows.lengthUs : windows.lengthUs;
}

/** Where the window of an instant and those beside it begin and end. */
function packBoundaries(writer: ByteWriter, { windows }: FixedWindowBucket, nowUs: number): void {
  const { startUs, endUs } = windows.around(nowUs);
  writer.f64(windows.around(startUs - 1).startUs, startUs, endUs, windows.around(endUs).endUs);
}

/** The interval of steps; negative if they are aligned to the clock, 0 with a calendar. */
export function signedInterval({ windows, intervalUs }: IntervalBucket): number {
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

function packGeneration(writer: ByteWriter, bucket: FormerBucket, next: FormerBucket | undefined, nowUs: number): void {
  writer.u32(bucket.generation);
  writer.u8(kindOf(bucket));
  writer.u8(ON_EDITS.indexOf(bucket.onEdit));
  writer.f64(mostTokens(bucket), bucket.startedAtUs, ...numbersOfKind(bucket));
  if (bucket.kind === 'interval' && bucket.intervalUs === 0) {
    const { windows, startedAtUs } = bucket;
    writer.f64(windows!.around(startedAtUs).startUs);
    packStepsOfNow(writer, bucket, nowUs);
    packSteps(writer, stepsUntil(bucket, next?.startedAtUs ?? startedAtUs, stepsToFull(bucket)));
  }
  if (bucket.kind !== 'fixed_window' || !hasCalendar(bucket)) return;
  const { windows, startedAtUs } = bucket;
  writer.f64(windows.around(startedAtUs).startUs, windows.around(next?.startedAtUs ?? startedAtUs).startUs);
  packBoundaries(writer, bucket, nowUs);
}

function numbersOfKind(bucket: FormerBucket): [number, number] {
  switch (bucket.kind) {
    case 'greedy':
      return [bucket.rate.n, bucket.rate.intervalUs];
    case 'interval':
      return [bucket.refillTokens, signedInterval(bucket)];
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

/** Whole microseconds will do, and a missing bucket is a full one. */
function isPlain({ rate, missingAtStart, maxWaitUs }: GreedyBucket & FormerBucket): boolean {
  return rate.n === 1 && missingAtStart.whole === 0 && missingAtStart.part === 0 && maxWaitUs === undefined;
}

/** Why a script has done nothing, if the first number of its answer says so. */
export function problemOf(first: number | undefined): 'stale' | 'again' | undefined {
  return first === SENTINEL.stale ? 'stale' : first === SENTINEL.again ? 'again' : undefined;
}

/** Reads a reply, request by request, in the order in which they were packed. */
export class TakeReply {
  private position = 0;

  constructor(private readonly numbers: readonly number[]) {}

  /** `stale` for a request that came with outdated numbers, `again` for one that has to say more: see lua/take.lua. */
  next(takes: readonly BucketTake[]): BucketLevel[] | 'stale' | 'again' {
    const first = this.numbers[this.position];
    // A literal: an array that is pushed to makes room for seventeen.
    const levels = takes.length === 1 ? [this.level(takes[0]!)] : takes.map((take) => this.level(take));
    return problemOf(first) ?? levels;
  }

  /** When it was, by the clock of the server, in microseconds; negative if Redis was full, and nothing was written. */
  get atUs(): number {
    return this.numbers.at(-1)!;
  }

  get wasWritten(): boolean {
    return !(this.atUs < 0);
  }

  private level(take: BucketTake): BucketLevel {
    const kind = take instanceof RedisTake && take.kept instanceof Wire ? take.kept.kind : kindOf(take.bucket);
    const { numbers, position } = this;
    this.position += NUMBERS[kind]!;
    const first = numbers[position]!;
    if (first <= SENTINEL.blocked) return { blockedForUs: SENTINEL.blocked - first };
    if (kind === KIND.greedy) return { debtUs: first, part: 0 };
    const second = numbers[position + 1]!;
    if (kind === KIND.greedyWithParts || kind === KIND.queue) return { debtUs: first, part: second };
    if (kind === KIND.penalty) return { blockedUs: first, refusals: second };
    if (kind === KIND.interval) return { tokens: first, steppedAtUs: Math.abs(this.atUs) - second, sinceStepUs: second };
    return { used: first, retryUs: second, resetUs: numbers[position + 2]!, resetAfterTakingUs: numbers[position + 3]! };
  }
}

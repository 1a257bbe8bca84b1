import {
  generationsOf,
  isBypassed,
  isPenaltyTake,
  KeptTake,
  neededFor,
  takesOfRetry,
  ON_EDITS,
  type Bucket,
  type BucketLevel,
  type BucketTake,
  type MakeTake,
  type Retry,
  type RetryState,
  type TakeRequest,
  type WindowBounds,
} from '#limiter';
import type { BucketCodec } from '../lua/algorithms/codec.js';
import { codecOf, numberOf } from '../lua/algorithms/index.js';
import { ByteWriter } from './byte-writer.js';
import type { PackedArguments } from './packed-command.js';
import { BUCKET_PREFIX } from './redis-keys.js';
import { FLAG, INDEX, RETRY, SENTINEL } from './wire.js';

/** The wire format of lua/take.lua: one call for many requests. */

/** Kind, index of the key, and generation stand before the numbers of a packed bucket. */
const HEAD_LENGTH = 7;

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
    readonly codec: BucketCodec,
    /** The window of the calendar that it was packed in: in another one it has to be packed anew. */
    readonly window: WindowBounds | undefined,
    /** What is added to the index of the key: see INDEX. */
    readonly indexFlags: number,
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
  for (const request of requests) {
    if (request.retry === undefined) packRequest(request, nowMs, indexes);
    else packRetryable(request, request.retry, nowMs, indexes);
  }
  frames.frame(clock === 'given' ? String(Math.round(nowMs * 1000)) : '');
  frames.ascii(`$${buckets.length}\r\n`);
  const firstKey = BUCKET_PREFIX + (requests[0]?.takes[0]?.key ?? '');
  return { firstKey, keyCount: indexes.size, argumentCount: 2, frames: [frames.written(), buckets.written(), END] };
}

function packRequest({ takes, holder, spare, withFormer }: AskedTakes, nowMs: number, indexes: Map<string, number>): void {
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
    if (last > 0 && isBypassed(take.bucket, spare)) buckets.bytes[at]! |= FLAG.bypassed;
    buckets.bytes[at + 1] = index & 0xff;
    buckets.bytes[at + 2] = (index | wire.indexFlags) >> 8;
    if (wire.codec.holderAt !== undefined) buckets.f64At(at + HEAD_LENGTH + wire.codec.holderAt, holder);
  }
}

/** Twice: as a retry takes, and as any request does; the script chooses. */
function packRetryable(request: AskedTakes, retry: Retry, nowMs: number, indexes: Map<string, number>): void {
  const { mark, counter, forMs, mostRetries, mostRemembered } = retry;
  buckets.u8(RETRY.kind);
  buckets.u16(indexOfKey(mark, indexes));
  buckets.u32(indexOfKey(counter, indexes));
  buckets.f64(Math.ceil(forMs / 1000), mostRetries, mostRemembered, 0, 0);
  const begin = buckets.length;
  packRequest({ ...request, takes: takesOfRetry(request.takes) }, nowMs, indexes);
  const middle = buckets.length;
  packRequest(request, nowMs, indexes);
  buckets.f64At(begin - 16, middle - begin);
  buckets.f64At(begin - 8, buckets.length - middle);
}

function indexOfKey(key: string, indexes: Map<string, number>): number {
  const known = indexes.get(key);
  if (known !== undefined) return known;
  const index = indexes.size + 1;
  indexes.set(key, index);
  frames.frame(BUCKET_PREFIX + key);
  return index;
}

function wireOf(take: BucketTake, nowMs: number): Wire {
  const kept = take instanceof RedisTake ? take.kept : undefined;
  if (kept instanceof Wire && kept.window === kept.codec.calendarWindow?.(take.bucket, nowMs * 1000)) return kept;
  const wire = newWire(take, nowMs, false);
  if (take instanceof RedisTake) take.kept = kept === undefined ? ASKED_ONCE : wire;
  return wire;
}

/** Instead of a wire. */
const ASKED_ONCE = Symbol('asked once');

/** A take that keeps how it is packed, for the next request that asks the same. */
class RedisTake<B extends Bucket> extends KeptTake<B> {
  kept: Wire | typeof ASKED_ONCE | undefined = undefined;
}

/** For takes that many requests ask of a store in Redis. */
export const redisTake: MakeTake = (key, bucket, cost) => new RedisTake(key, bucket, cost);

function newWire(take: BucketTake, nowMs: number, withFormer: boolean): Wire {
  const { key, bucket, cost } = take;
  const writer = new ByteWriter(256);
  writer.frame(BUCKET_PREFIX + key);
  const frameLength = writer.length;
  const codec = codecOf(bucket);
  const hasFormer = bucket.previous.length > 0;
  // The present numbers are the last of them, and all that there are of a limit that was never edited: what is lent of a bucket is told by them.
  const tellsNumbers = withFormer && !isPenaltyTake(take);
  const nowUs = nowMs * 1000;
  writer.u8(numberOf(codec) + (hasFormer ? FLAG.hasFormer : 0) + (tellsNumbers ? FLAG.formerFollow : 0));
  writer.u16(0);
  writer.u32(bucket.generation);
  codec.packTake(writer, bucket, cost, nowUs, isPenaltyTake(take) ? take.untold : undefined);
  const { inForce } = bucket;
  if (inForce !== undefined) writer.f64(inForce.fromUs, inForce.untilUs, inForce.fillsAfterUs);
  const leaves = neededFor(bucket, cost) > cost;
  if (leaves) writer.f64(...(codec.withheldOf?.(bucket) ?? [bucket.withheld, 0]));
  const indexFlags = (inForce === undefined ? 0 : INDEX.timed) + (leaves ? INDEX.leaving : 0);
  if (tellsNumbers) packGenerations(writer, bucket, nowUs);
  return new Wire(new Uint8Array(writer.written()), frameLength, codec, codec.calendarWindow?.(bucket, nowUs), indexFlags);
}

function packGenerations(writer: ByteWriter, bucket: Bucket, nowUs: number): void {
  const generations = generationsOf(bucket);
  writer.u8(generations.length);
  generations.forEach((generation, i) => {
    const codec = codecOf(generation);
    writer.u32(generation.generation);
    writer.u8(numberOf(codec));
    writer.u8(ON_EDITS.indexOf(generation.onEdit));
    writer.f64(generation.capacity, generation.startedAtUs);
    codec.packGeneration(writer, generation, nowUs, generations[i + 1]?.startedAtUs ?? generation.startedAtUs);
  });
}

/** Why a script has done nothing, if the first number of its answer says so. */
export function problemOf(first: number | undefined): 'stale' | 'again' | undefined {
  return first === SENTINEL.stale ? 'stale' : first === SENTINEL.again ? 'again' : undefined;
}

/** Reads a reply, request by request, in the order in which they were packed. */
export class TakeReply {
  private position = 0;

  /** When it was, by the clock of the server, in microseconds; negative if Redis was full. */
  readonly atUs: number;

  constructor(private readonly numbers: readonly number[]) {
    this.atUs = numbers.at(-1)!;
  }

  /** What became of a request whose retries may be known; to be read before anything else of it. */
  retryState(): RetryState | undefined {
    const state = this.numbers[this.position++];
    return state === RETRY.retried ? 'retried' : state === RETRY.marked ? 'marked' : undefined;
  }

  /** `stale` for a request that came with outdated numbers, `again` for one that has to say more: see lua/take.lua. */
  next(takes: readonly BucketTake[]): BucketLevel[] | 'stale' | 'again' {
    const first = this.numbers[this.position];
    // A literal: an array that is pushed to makes room for seventeen.
    const levels = takes.length === 1 ? [this.level(takes[0]!)] : takes.map((take) => this.level(take));
    return problemOf(first) ?? levels;
  }

  /** Numbers that stand in front of those of a request. */
  plain(count: number): readonly number[] {
    const begin = this.position;
    this.position += count;
    return this.numbers.slice(begin, this.position);
  }

  get wasWritten(): boolean {
    return !(this.atUs < 0);
  }

  private level(take: BucketTake): BucketLevel {
    const codec = take instanceof RedisTake && take.kept instanceof Wire ? take.kept.codec : codecOf(take.bucket);
    const { numbers, position } = this;
    this.position += codec.replyLength;
    const first = numbers[position]!;
    if (first <= SENTINEL.blocked) return { blockedForUs: SENTINEL.blocked - first };
    return codec.levelOf(numbers, position, Math.abs(this.atUs));
  }
}

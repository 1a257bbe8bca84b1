import { ByteWriter } from '../connection/byte-writer.js';
import type { PackedArguments } from '../connection/packed-command.js';
import { snapshotKey } from '../redis-keys.js';

/** A snapshot as Redis keeps it. */
export interface TextOfMerchant {
  readonly merchantId: string;
  readonly text: string;
}

/** A snapshot with the buckets that are there before the first request. */
export interface MerchantInBatch extends TextOfMerchant {
  readonly buckets: readonly string[];
}

/** Bytes that a batch of usual merchants takes. A longer one grows. */
const [USUAL_KEYS, USUAL_TEXTS, USUAL_BUCKETS] = [32_768, 262_144, 65_536];

/**
 * Merchants as the bytes of the calls that write them. They are written as soon as each is known: some thousand merchants that wait for Redis as texts are ten
 * times as many objects, which the garbage collector copies again and again.
 */
export class MerchantBatch {
  private readonly ids = new ByteWriter(USUAL_KEYS);
  private readonly keys = new ByteWriter(USUAL_KEYS);
  private readonly texts = new ByteWriter(USUAL_TEXTS);
  private readonly buckets = new ByteWriter(USUAL_BUCKETS);
  private readonly bucketCounts: number[] = [];
  private bucketCount = 0;

  get length(): number {
    return this.bucketCounts.length;
  }

  add({ merchantId, text, buckets }: MerchantInBatch): void {
    this.ids.frame(merchantId);
    this.keys.frame(snapshotKey(merchantId));
    this.texts.frame(text);
    for (const bucket of buckets) this.buckets.frame(bucket);
    this.bucketCounts.push(buckets.length);
    this.bucketCount += buckets.length;
  }

  /** The snapshots, for write-snapshots.lua. @param args what stands before the texts */
  snapshots(args: readonly string[]): PackedArguments {
    const before = new ByteWriter(64);
    for (const arg of args) before.frame(arg);
    const frames = [this.keys.written(), before.written(), this.texts.written()];
    return { firstKey: firstOf(frames[0]!), keyCount: this.length, argumentCount: args.length + this.length, frames };
  }

  /** The buckets, for preload-buckets.lua; undefined if there are none. */
  bucketsWith(args: readonly string[]): PackedArguments | undefined {
    if (this.bucketCount === 0) return undefined;
    const behind = new ByteWriter(64);
    for (const arg of args) behind.frame(arg);
    const frames = [this.buckets.written(), behind.written()];
    return { firstKey: firstOf(frames[0]!), keyCount: this.bucketCount, argumentCount: args.length, frames };
  }

  /** The merchants again, for those who have to write each by itself. */
  *merchants(): Generator<MerchantInBatch> {
    const [ids, texts, buckets] = [framesIn(this.ids.written()), framesIn(this.texts.written()), framesIn(this.buckets.written())];
    const next = (frames: Generator<string>): string => frames.next().value as string;
    for (const count of this.bucketCounts) {
      yield { merchantId: next(ids), text: next(texts), buckets: Array.from({ length: count }, () => next(buckets)) };
    }
  }
}

const LINE_END = 2;

function firstOf(frames: Uint8Array): string {
  return framesIn(frames).next().value as string;
}

function* framesIn(bytes: Uint8Array): Generator<string> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = 0; at < buffer.length;) {
    const start = buffer.indexOf('\r\n', at) + LINE_END;
    const end = start + Number(buffer.toString('latin1', at + 1, start - LINE_END));
    yield buffer.toString('utf8', start, end);
    at = end + LINE_END;
  }
}

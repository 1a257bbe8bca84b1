import { allows, type Bucket, type BucketLevel, type PastTake, type Receipt, type SlotHolder } from '#limiter';
import { codecOf, KIND, numberOf } from '../../lua/algorithms/index.js';
import { ByteWriter } from '../connection/byte-writer.js';
import type { ClaimedTake } from './claimed-take.js';
import type { PackedArguments } from '../connection/packed-command.js';
import { BUCKET_PREFIX } from '../redis-keys.js';
import { takenAtUsOf } from './taken-at.js';
import { RETRY } from './wire.js';

/** The wire format of lua/refund.lua: one call for what many requests give back. */

/** What is given back of a request: its slots, or everything. */
export type GivenBack = Receipt | SlotHolder;

/** One bucket's share of it; or the mark of a request, by which retries are known, and how many of what follows is given back only if none went by. */
export interface Refund {
  readonly key: string;
  readonly bucket: Bucket | { readonly dependent: number };
  /** See `refundNumbers`. */
  readonly numbers: readonly number[];
}

/**
 * What there is to give back; nothing for a bucket that the script would leave as it is.
 *
 * @param nowMs what time it is at the server, as far as that is known here
 */
export function refundsOf(requests: readonly GivenBack[], nowMs: number): Refund[] {
  return requests.flatMap((request) => {
    const refunds = refundsOfOne(request, nowMs);
    const retry = 'levels' in request ? request.retry : undefined;
    if (retry === undefined) return refunds;
    // Slots are free in any case.
    const slots = refunds.filter(({ bucket }) => 'kind' in bucket && bucket.kind === 'concurrency');
    const others = refunds.filter((refund) => !slots.includes(refund));
    return others.length === 0
      ? slots
      : [...slots, { key: retry.mark, bucket: { dependent: others.length }, numbers: [(request as Receipt).takenAtUs] }, ...others];
  });
}

function refundsOfOne(request: GivenBack, nowMs: number): Refund[] {
  return request.takes.flatMap(({ key, bucket }, i) => {
    const numbers = 'levels' in request ? numbersOfTake(request, i, nowMs * 1000) : slotNumbers(bucket, request.holder);
    return numbers === undefined ? [] : [{ key, bucket, numbers }];
  });
}

function numbersOfTake({ takes, levels, takenAtUs, holder }: Receipt, i: number, nowUs: number): readonly number[] | undefined {
  const { bucket, cost } = takes[i]!;
  const level = levels[i]!;
  return refundNumbers(bucket, { cost, level, takenAtUs: takenAtUsOf(level) ?? takenAtUs, holder }, nowUs);
}

const END = Buffer.from('\r\n');
const NUMBERS = 6;

/** Used again for every call; nothing is awaited while one is packed. */
const frames = new ByteWriter(1024);
const packed = new ByteWriter(1024);

/** @param now the clock in microseconds, '' for that of the server */
export function packRefunds(refunds: readonly Refund[], now: string): PackedArguments {
  const given = refunds.map(({ key, bucket, numbers }) =>
    'dependent' in bucket
      ? { key, kind: RETRY.kind, generation: bucket.dependent, numbers }
      : { key, kind: numberOf(codecOf(bucket)), generation: bucket.generation, numbers },
  );
  return packRefundsOf(given, now);
}

interface Given {
  readonly key: string;
  readonly kind: number;
  readonly generation: number;
  readonly numbers: readonly number[];
}

function packRefundsOf(given: readonly Given[], now: string): PackedArguments {
  const indexes = new Map<string, number>();
  frames.clear();
  packed.clear();
  for (const { key, kind, generation, numbers } of given) packGiven(indexes, key, kind, generation, numbers);
  frames.frame(now);
  frames.ascii(`$${packed.length}\r\n`);
  return {
    firstKey: BUCKET_PREFIX + (given[0]?.key ?? ''),
    keyCount: indexes.size,
    argumentCount: 2,
    frames: [frames.written(), packed.written(), END],
  };
}

/** What a claim gives back where it lies in another slot than the claim. */
export function packClaimed(taken: readonly ClaimedTake[]): PackedArguments {
  return packRefundsOf(
    taken.map(({ key, kind, generation, numbers }) => ({ key, kind: KIND[kind]!, generation, numbers })),
    '',
  );
}

/** The claim that ends with what it gives back. */
export interface EndedClaim {
  readonly key: string;
  /** As it was read. */
  readonly text: string;
  /** What stands in its place from now on. */
  readonly ended: string;
}

/** The wire format of lua/settle-claim.lua. */
export function packClaimEnd(taken: readonly ClaimedTake[], claim: EndedClaim): PackedArguments {
  const indexes = new Map<string, number>();
  frames.clear();
  packed.clear();
  for (const { key, kind, generation, numbers } of taken) packGiven(indexes, key, KIND[kind]!, generation, numbers);
  frames.frame(claim.key);
  frames.frame('');
  frames.ascii(`$${packed.length}\r\n`);
  const rest = new ByteWriter(1024);
  rest.frame(claim.text);
  rest.frame(claim.ended);
  return {
    firstKey: claim.key,
    keyCount: indexes.size + 1,
    argumentCount: 4,
    frames: [frames.written(), packed.written(), END, rest.written()],
  };
}

/** @param indexes of the keys that were written */
function packGiven(indexes: Map<string, number>, key: string, kind: number, generation: number, numbers: readonly number[]): void {
  let index = indexes.get(key);
  if (index === undefined) {
    index = indexes.size + 1;
    indexes.set(key, index);
    frames.frame(BUCKET_PREFIX + key);
  }
  packed.u8(kind);
  packed.u16(index);
  packed.u32(generation);
  for (let n = 0; n < NUMBERS; n++) packed.f64(numbers[n] ?? 0);
}

/** What `refunded` in lua/algorithms needs to know of a request that passed. */
function refundNumbers(bucket: Bucket, past: PastTake<BucketLevel>, nowUs: number): readonly number[] | undefined {
  const { cost, level } = past;
  return cost === 0 || !allows(bucket, level, cost) ? undefined : codecOf(bucket).refundOf(bucket, past, nowUs);
}

function slotNumbers(bucket: Bucket, holder: number): readonly number[] | undefined {
  return codecOf(bucket).holderAt === undefined ? undefined : [holder];
}

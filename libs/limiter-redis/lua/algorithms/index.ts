import type { BucketGeneration, BucketKind } from '#limiter';
import type { BucketCodec } from './codec.js';
import { concurrency } from './concurrency.js';
import { fixedWindow } from './fixed-window.js';
import { greedyWithParts } from './greedy-with-parts.js';
import { greedy } from './greedy.js';
import { interval } from './interval.js';
import { penalty } from './penalty.js';
import { queue } from './queue.js';
import { slidingCounter } from './sliding-counter.js';
import { slidingLog } from './sliding-log.js';

/**
 * All codecs, by the kind of bucket; the first that fits a bucket is its own. From this list the scripts get the numbers by which they call
 * the kinds, and which files they include. At most sixteen.
 */
const CODECS_OF = {
  greedy: [greedy, queue, greedyWithParts],
  interval: [interval],
  fixed_window: [fixedWindow],
  sliding_log: [slidingLog],
  sliding_counter: [slidingCounter],
  concurrency: [concurrency],
  penalty: [penalty],
} as unknown as Record<BucketKind, readonly BucketCodec[]>;

const CODECS = Object.values(CODECS_OF).flat();
const NUMBERS = new Map(CODECS.map((codec, number) => [codec, number]));

export function codecOf(bucket: BucketGeneration): BucketCodec {
  const codecs = CODECS_OF[bucket.kind];
  for (const codec of codecs) {
    if (codec.fits === undefined || codec.fits(bucket)) return codec;
  }
  throw new Error(`no codec fits a bucket of the kind ${bucket.kind}`);
}

/** How the scripts call it. */
export function numberOf(codec: BucketCodec): number {
  return NUMBERS.get(codec)!;
}

/** By name, as `KIND` in the scripts. */
export const KIND: Readonly<Record<string, number>> = Object.fromEntries(CODECS.map(({ name }, number) => [name, number]));

/** For lua/buckets.lua, which declares the tables: what is known of each kind before its file is run, and a function for each that runs it. */
export function algorithmsInLua(): string {
  const table = (name: string, entries: readonly (readonly [string | number, number])[]): string =>
    `${name} = { ${entries.map(([key, value]) => `[${typeof key === 'number' ? key : `'${key}'`}] = ${value}`).join(', ')} }`;
  const suffixesOf = ({ text }: BucketCodec) => ('suffixes' in text ? text.suffixes : []);
  const sameText = (codec: BucketCodec): number => CODECS.findIndex(({ text }) => text === codec.text);
  const isFirst = (codec: BucketCodec, number: number): boolean => sameText(codec) === number;
  return [
    table(
      'TEXT_KIND',
      CODECS.map((codec, number) => [number, sameText(codec)]),
    ),
    table(
      'REPLY_LENGTH',
      CODECS.map(({ replyLength }, number) => [number, replyLength]),
    ),
    table(
      'KIND_OF_SUFFIX',
      CODECS.filter(isFirst).flatMap((codec) => suffixesOf(codec).map((suffix) => [suffix, numberOf(codec)] as const)),
    ),
    table(
      'KIND_OF_PREFIX',
      CODECS.flatMap((codec, number) => ('prefix' in codec.text ? [[codec.text.prefix, number] as const] : [])),
    ),
    ...CODECS.map(({ name }, number) => `LOADERS[${number}] = function()\n  --# include algorithms/${name}.lua\nend`),
  ].join('\n');
}

import { seededRandom, type Random } from '../random.js';
import { wholeUs, type Arrival } from './arrival.js';
import { merge } from './merge.js';

/** The load that a pattern makes. All patterns make the same amount on average, except for `boundary`. */
export interface Load {
  readonly seed: number;
  readonly seconds: number;
  /** Requests a second of each key, on average. */
  readonly ratePerSecond: number;
  readonly keys: readonly string[];
  /** The bound of the limits under test, at which `boundary` aims. */
  readonly limit: number;
  readonly windowMs: number;
}

/** The arrivals of one key, in milliseconds. */
type Times = (load: Load, random: Random) => Iterable<number>;

const PATTERNS = { constant, poisson, bursty, diurnal, boundary } satisfies Record<string, Times>;

export type PatternName = keyof typeof PATTERNS;

export const PATTERN_NAMES = Object.keys(PATTERNS) as PatternName[];

/** A pattern's arrivals, lazily. The same load gives the same arrivals; a key's do not depend on the other keys. */
export function traffic(pattern: PatternName, load: Load): Iterable<Arrival> {
  return merge(load.keys.map((key) => arrivalsOf(key, PATTERNS[pattern](load, seededRandom(load.seed, `${pattern}:${key}`)))));
}

function* arrivalsOf(key: string, times: Iterable<number>): Generator<Arrival> {
  for (const atMs of times) yield { atMs: wholeUs(atMs), key, cost: 1 };
}

/** One request after the other at equal distances. */
function* constant({ ratePerSecond, seconds }: Load): Generator<number> {
  const gapMs = 1000 / ratePerSecond;
  for (let i = 0; i * gapMs < seconds * 1000; i++) yield i * gapMs;
}

/** Many clients that know nothing of each other. */
function* poisson({ ratePerSecond, seconds }: Load, random: Random): Generator<number> {
  const meanGapMs = 1000 / ratePerSecond;
  for (let atMs = random.exponential(meanGapMs); atMs < seconds * 1000; atMs += random.exponential(meanGapMs)) yield atMs;
}

const BURST_SHARE = 0.2;

/** Silence, then everything at once: a fifth of the time has all the load, in bursts of about a fifth of a window. */
function* bursty({ ratePerSecond, seconds, windowMs }: Load, random: Random): Generator<number> {
  const burstMs = windowMs * BURST_SHARE;
  const silenceMs = burstMs / BURST_SHARE - burstMs;
  const meanGapMs = (1000 / ratePerSecond) * BURST_SHARE;
  let atMs = 0;
  for (;;) {
    atMs += random.exponential(silenceMs);
    const endMs = atMs + random.exponential(burstMs);
    for (; atMs < endMs; atMs += random.exponential(meanGapMs)) {
      if (atMs >= seconds * 1000) return;
      yield atMs;
    }
    // The last gap has led out of the burst: silence begins where the burst ends.
    atMs = endMs;
    if (atMs >= seconds * 1000) return;
  }
}

const DAYS = 2;

/** Two days, shortened to the length of the run: nobody at night, twice the average at noon. */
function* diurnal({ ratePerSecond, seconds }: Load, random: Random): Generator<number> {
  const dayMs = (seconds * 1000) / DAYS;
  const meanGapMs = 1000 / (2 * ratePerSecond);
  // Thinning (Lewis and Shedler, 1979): arrivals at the highest rate, kept with the share that the hour has of it.
  for (let atMs = random.exponential(meanGapMs); atMs < seconds * 1000; atMs += random.exponential(meanGapMs)) {
    if (random.next() < (1 - Math.cos((2 * Math.PI * atMs) / dayMs)) / 2) yield atMs;
  }
}

const BOUNDARY_MS = 10;

/** The exploit of windows on the clock: all that is allowed in the last instant of one window, and again in the next one's first. */
function* boundary({ limit, seconds, windowMs }: Load): Generator<number> {
  const beforeMs = Math.min(BOUNDARY_MS, windowMs / 2);
  for (let edgeMs = windowMs; edgeMs < seconds * 1000; edgeMs += 2 * windowMs) {
    for (let i = 0; i < limit; i++) yield edgeMs - beforeMs;
    for (let i = 0; i < limit; i++) yield edgeMs;
  }
}

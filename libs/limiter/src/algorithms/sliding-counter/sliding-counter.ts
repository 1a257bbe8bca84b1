import { withStart, type BucketAlgorithm, type LimitAlgorithm } from '../algorithm.js';
import { mulDiv, roundedUp, wholeAmount } from '../amount.js';
import { takable, windowAllows, windowDecision, windowLater, type WindowLevel } from '../window-level.js';
import { SLIDING_COUNTER, type SlidingCounterSpec } from './fields.js';

/**
 * Counts in parts of a window, and takes of the part that is leaving only what is still inside, as if its requests had come
 * evenly. With one part this is the classic pair of windows; more parts come closer to the log, at a few bytes each.
 */
export interface SlidingCounterState {
  /** The first microsecond of the newest part. */
  readonly startUs: number;
  /** Tokens taken in each part, the newest first; one more than the window has parts: the one that is leaving. */
  readonly counts: readonly number[];
}

export interface SlidingCounterBucket {
  readonly kind: 'sliding_counter';
  readonly capacity: number;
  readonly parts: number;
  readonly partUs: number;
  readonly start: SlidingCounterState;
}

/** The start of the part that holds an instant. */
export function partOf({ partUs }: SlidingCounterBucket, atUs: number): number {
  return Math.floor(atUs / partUs) * partUs;
}

/**
 * What is in the future counts in the part of now, as far as there is room: the past keeps its places, so that a clock that trembles
 * around the end of a part makes nothing older than it is.
 */
function clamped(bucket: SlidingCounterBucket, state: SlidingCounterState, nowUs: number): SlidingCounterState {
  const startUs = partOf(bucket, nowUs);
  if (state.startUs <= startUs) return state;
  const { parts, partUs, capacity } = bucket;
  const steps = (state.startUs - startUs) / partUs;
  const counts: number[] = [];
  for (let i = 0; i <= parts; i++) counts.push(state.counts[i + steps] ?? 0);
  let future = 0;
  for (let i = 0; i <= parts && i < steps; i++) future += state.counts[i]!;
  counts[0]! += Math.min(future, Math.max(0, capacity - usedAt(bucket, { startUs, counts }, nowUs)));
  return { startUs, counts };
}

/** The counts as of the part that holds `nowUs`. */
function shifted(bucket: SlidingCounterBucket, state: SlidingCounterState, nowUs: number): SlidingCounterState {
  const startUs = partOf(bucket, nowUs);
  const steps = (startUs - state.startUs) / bucket.partUs;
  if (steps <= 0) return { startUs, counts: state.counts };
  if (steps > bucket.parts) return { startUs, counts: new Array<number>(bucket.parts + 1).fill(0) };
  return { startUs, counts: [...new Array<number>(steps).fill(0), ...state.counts.slice(0, bucket.parts + 1 - steps)] };
}

/** What counts of a part of which `insideUs` microseconds are still in the window, rounded down. */
function weighted(count: number, insideUs: number, partUs: number): number {
  return mulDiv(count, insideUs, partUs).quotient;
}

/**
 * Microseconds from the start of the newest part until no more than `room` counts, if nothing more is taken; never later than
 * when all parts have left.
 */
function opensAfterUs({ parts, partUs }: SlidingCounterBucket, counts: readonly number[], room: number): number {
  let whole = 0;
  for (let i = 0; i < parts; i++) whole += counts[i]!;
  for (let gone = 0; gone <= parts; gone++) {
    // In this part `whole` counts fully, and `leaving` by what is inside.
    const leaving = counts[parts - gone]!;
    if (whole <= room) return gone * partUs + openingUs(leaving, room - whole, partUs);
    whole -= gone < parts ? counts[parts - 1 - gone]! : 0;
  }
  return (parts + 1) * partUs;
}

/** The first microsecond of a part in which no more than `room` of `leaving` counts. */
function openingUs(leaving: number, room: number, partUs: number): number {
  if (leaving <= room) return 0;
  // floor(leaving * inside / partUs) <= room  <=>  inside < (room + 1) * partUs / leaving
  const { quotient, rest } = mulDiv(room + 1, partUs, leaving);
  return partUs - (rest > 0 ? quotient : quotient - 1);
}

function usedAt({ parts, partUs }: SlidingCounterBucket, { startUs, counts }: SlidingCounterState, nowUs: number): number {
  let whole = 0;
  for (let i = 0; i < parts; i++) whole += counts[i]!;
  return whole + weighted(counts[parts]!, partUs - (nowUs - startUs), partUs);
}

/** Microseconds from the start of the newest part until nothing counts. */
function emptyAfterUs({ parts, partUs }: SlidingCounterBucket, counts: readonly number[]): number {
  const newest = counts.findIndex((count) => count > 0);
  return newest === -1 ? 0 : (parts + 1 - newest) * partUs;
}

/** What is added comes out of the newest parts; out of the one that is leaving last, so that exactly so much less of it counts now. */
function adjusted(bucket: SlidingCounterBucket, state: SlidingCounterState, tokens: number, nowUs: number): SlidingCounterState {
  const { parts, partUs } = bucket;
  const now = shifted(bucket, state, nowUs);
  const counts = [...now.counts];
  if (tokens < 0) {
    counts[0]! += takable(bucket, usedAt(bucket, now, nowUs), -tokens);
    return { startUs: now.startUs, counts };
  }
  let left = tokens;
  for (let i = 0; i < parts && left > 0; i++) {
    const given = Math.min(left, counts[i]!);
    counts[i]! -= given;
    left -= given;
  }
  if (left > 0) {
    const insideUs = partUs - (nowUs - now.startUs);
    const target = Math.max(0, weighted(counts[parts]!, insideUs, partUs) - left);
    counts[parts] = Math.min(counts[parts]!, mostWeighing(target, insideUs, partUs));
  }
  return { startUs: now.startUs, counts };
}

/** The largest count of which no more than so many tokens count. */
function mostWeighing(tokens: number, insideUs: number, partUs: number): number {
  // floor(count * inside / partUs) <= tokens  <=>  count < (tokens + 1) * partUs / inside
  const { quotient, rest } = mulDiv(tokens + 1, partUs, insideUs);
  return rest > 0 ? quotient : quotient - 1;
}

export const slidingCounterBuckets: BucketAlgorithm<SlidingCounterBucket, SlidingCounterState, WindowLevel> = {
  clamped,
  level(bucket, state, nowUs, cost) {
    const now = shifted(bucket, state, nowUs);
    const sinceUs = nowUs - now.startUs;
    const used = usedAt(bucket, now, nowUs);
    return {
      used,
      retryUs:
        used + cost <= bucket.capacity || cost > bucket.capacity ? 0 : opensAfterUs(bucket, now.counts, bucket.capacity - cost) - sinceUs,
      resetUs: used === 0 ? 0 : emptyAfterUs(bucket, now.counts) - sinceUs,
      resetAfterTakingUs: (bucket.parts + 1) * bucket.partUs - sinceUs,
    };
  },
  allows: windowAllows,
  after(bucket, state, _level, cost, nowUs) {
    const { startUs, counts } = shifted(bucket, state, nowUs);
    return { startUs, counts: [counts[0]! + cost, ...counts.slice(1)] };
  },
  decide: windowDecision,
  later: windowLater,
  refunded(bucket, state, { cost, takenAtUs }) {
    const index = (state.startUs - partOf(bucket, takenAtUs)) / bucket.partUs;
    const count = state.counts[index];
    return count === undefined ? state : { startUs: state.startUs, counts: state.counts.with(index, Math.max(0, count - cost)) };
  },
  adjusted,
  missing: (bucket, state, atUs) => wholeAmount(usedAt(bucket, shifted(bucket, state, atUs), atUs)),
  stateMissing(bucket, missing, atUs) {
    const used = Math.min(bucket.capacity, Math.max(0, roundedUp(missing)));
    return { startUs: partOf(bucket, atUs), counts: [used, ...new Array<number>(bucket.parts).fill(0)] };
  },
};

/** Promises at most the limit in every time that is one part shorter than the window, and nearly twice as many in a whole one. */
export const slidingCounter: LimitAlgorithm<SlidingCounterSpec, SlidingCounterBucket, typeof SLIDING_COUNTER> = {
  table: SLIDING_COUNTER,
  bucketOf({ windowMs, parts }, beginning) {
    const partUs = (windowMs * 1000) / parts;
    return withStart(slidingCounterBuckets, { kind: 'sliding_counter', capacity: beginning.capacity, parts, partUs }, beginning);
  },
  quotaWindowMs: ({ windowMs }) => windowMs,
};

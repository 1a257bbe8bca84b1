import { withStart, type BucketAlgorithm, type LimitAlgorithm, type PastTake } from '../algorithm.js';
import { roundedUp, wholeAmount } from '../amount.js';
import { takable, windowAllows, windowDecision, windowLater, type WindowLevel } from '../window-level.js';
import { SLIDING_LOG, type SlidingLogSpec } from './fields.js';

/**
 * Remembers each request that passed for as long as it counts. The exact answer to "how many in the last window", at the price
 * of its memory. A request leaves the window in the microsecond in which it is as old as the window is long.
 */
export interface SlidingLogState {
  /** When tokens were taken, in microseconds, and how many had been taken by then, ever. In order of arrival. */
  readonly entries: readonly LogEntry[];
  /** How many had been taken before the first entry. */
  readonly takenBefore: number;
}

export interface LogEntry {
  readonly atUs: number;
  readonly takenUntil: number;
}

export interface SlidingLogBucket {
  readonly kind: 'sliding_log';
  readonly capacity: number;
  readonly windowUs: number;
  readonly start: SlidingLogState;
}

/** The index of the first entry that still counts. */
function firstCounting({ windowUs }: SlidingLogBucket, { entries }: SlidingLogState, nowUs: number): number {
  let first = 0;
  while (first < entries.length && entries[first]!.atUs <= nowUs - windowUs) first++;
  return first;
}

function takenBefore(state: SlidingLogState, index: number): number {
  return index === 0 ? state.takenBefore : state.entries[index - 1]!.takenUntil;
}

function taken(state: SlidingLogState): number {
  return state.entries.at(-1)?.takenUntil ?? state.takenBefore;
}

/** What is in the future counts as taken now, and leaves after one window. Entries are in order, so those are the last. */
function clamped(_bucket: SlidingLogBucket, state: SlidingLogState, nowUs: number): SlidingLogState {
  const { entries, takenBefore } = state;
  if (entries.length === 0 || entries.at(-1)!.atUs <= nowUs) return state;
  return { takenBefore, entries: entries.map((entry) => (entry.atUs > nowUs ? { ...entry, atUs: nowUs } : entry)) };
}

/** Requests of one instant and one cost cannot be told apart, and need not be. */
function refunded(_bucket: SlidingLogBucket, state: SlidingLogState, past: PastTake<WindowLevel>): SlidingLogState {
  const { entries } = state;
  const found = entries.findIndex((entry, i) => entry.atUs === past.takenAtUs && entry.takenUntil - takenBefore(state, i) === past.cost);
  if (found === -1) return state;
  const later = entries.slice(found + 1).map((entry) => ({ atUs: entry.atUs, takenUntil: entry.takenUntil - past.cost }));
  return { entries: [...entries.slice(0, found), ...later], takenBefore: state.takenBefore };
}

/** What is added comes out of the newest entries; one of which a part is left goes on with that. */
function adjusted(bucket: SlidingLogBucket, state: SlidingLogState, tokens: number, nowUs: number): SlidingLogState {
  const first = firstCounting(bucket, state, nowUs);
  const before = takenBefore(state, first);
  const entries = state.entries.slice(first);
  const total = taken(state);
  if (tokens < 0) {
    const more = takable(bucket, total - before, -tokens);
    return { entries: more === 0 ? entries : [...entries, { atUs: nowUs, takenUntil: total + more }], takenBefore: before };
  }
  const left = total - tokens;
  const kept = entries.filter((_entry, i) => takenBefore(state, first + i) < left);
  return { entries: kept.map(({ atUs, takenUntil }) => ({ atUs, takenUntil: Math.min(takenUntil, left) })), takenBefore: before };
}

export const slidingLogBuckets: BucketAlgorithm<SlidingLogBucket, SlidingLogState, WindowLevel> = {
  clamped,
  level(bucket, state, nowUs, cost) {
    const { capacity, windowUs } = bucket;
    const { entries } = state;
    const first = firstCounting(bucket, state, nowUs);
    const total = taken(state);
    const used = total - takenBefore(state, first);
    let last = first;
    // The entry with whose leaving there is room enough.
    while (last < entries.length && total - entries[last]!.takenUntil + cost > capacity) last++;
    const leavesUs = (index: number): number => (index < entries.length ? entries[index]!.atUs + windowUs - nowUs : 0);
    return {
      used,
      retryUs: used + cost <= capacity ? 0 : leavesUs(last),
      resetUs: used === 0 ? 0 : leavesUs(entries.length - 1),
      resetAfterTakingUs: windowUs,
    };
  },
  allows: windowAllows,
  after(bucket, state, _level, cost, nowUs) {
    const first = firstCounting(bucket, state, nowUs);
    const entry = { atUs: nowUs, takenUntil: taken(state) + cost };
    return { entries: [...state.entries.slice(first), entry], takenBefore: takenBefore(state, first) };
  },
  decide: windowDecision,
  later: windowLater,
  refunded,
  adjusted,
  missing: (bucket, state, atUs) => wholeAmount(taken(state) - takenBefore(state, firstCounting(bucket, state, atUs))),
  stateMissing(bucket, missing, atUs) {
    const used = Math.min(bucket.capacity, Math.max(0, roundedUp(missing)));
    return { entries: used === 0 ? [] : [{ atUs, takenUntil: used }], takenBefore: 0 };
  },
};

/** Promises at most the limit in every window of its length. */
export const slidingLog: LimitAlgorithm<SlidingLogSpec, SlidingLogBucket, typeof SLIDING_LOG> = {
  table: SLIDING_LOG,
  bucketOf: ({ windowMs }, beginning) =>
    withStart(slidingLogBuckets, { kind: 'sliding_log', capacity: beginning.capacity, windowUs: windowMs * 1000 }, beginning),
  quotaWindowMs: ({ windowMs }) => windowMs,
};

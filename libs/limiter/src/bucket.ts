import type { Algorithm, PastTake } from './algorithms/algorithm.js';
import { NOTHING, wholeAmount, type Amount } from './algorithms/amount.js';
import { calendarWindows } from './algorithms/calendar.js';
import { ceilMs, rateOf } from './algorithms/exact-span.js';
import { concurrency, type ConcurrencyBucket, type ConcurrencyState } from './algorithms/concurrency.js';
import { equalWindows, fixedWindow, type FixedWindowBucket, type FixedWindowState } from './algorithms/fixed-window.js';
import {
  FULL_AT_START,
  greedyBucket,
  greedyRefill,
  type GreedyBucket,
  type GreedyLevel,
  type GreedyState,
} from './algorithms/greedy-refill.js';
import { intervalRefill, type IntervalBucket, type IntervalLevel, type IntervalState } from './algorithms/interval-refill.js';
import { penalty, penaltyBucket, type PenaltyBucket, type PenaltyLevel, type PenaltyState } from './algorithms/penalty.js';
import { slidingCounter, type SlidingCounterBucket, type SlidingCounterState } from './algorithms/sliding-counter.js';
import { slidingLog, type SlidingLogBucket, type SlidingLogState } from './algorithms/sliding-log.js';
import type { WindowLevel } from './algorithms/window-decision.js';
import { isBlocked, type BlockedLevel } from './block.js';
import type { Decision } from './decision.js';
import { capacityOf, excessOf, type Limit, type LimitStart, type OnEdit, type PastLimit, type TokenBucketSpec } from './limit.js';
import { CALENDAR_MS } from './pace.js';
import type { Penalty } from './rule.js';

/**
 * A bucket: what one limit counts for one key. Whatever the algorithm, a store only needs what stands here. Pure: the caller
 * brings state and time and keeps what comes back.
 */

/** A limit made ready for decisions: everything that does not change between two requests is computed once. */
export type Bucket = FormerBucket & {
  /** Lets pass what is over the limit while there is spare capacity. */
  readonly elastic: boolean;
  /** Former numbers, the newest first, for a bucket that was written before an edit: see `generationsOf`. */
  readonly previous: readonly PastLimit[];
  readonly timeZone: string;
};

type BucketNumbers =
  GreedyBucket | IntervalBucket | FixedWindowBucket | SlidingLogBucket | SlidingCounterBucket | ConcurrencyBucket | PenaltyBucket;

export type FormerBucket = BucketNumbers & {
  readonly generation: number;
  readonly startedAtUs: number;
  /** What was missing when the limit started; negative for a surplus. */
  readonly missingAtStart: Amount;
  /** Tokens above the limit that a soft one lets pass; they are part of its capacity here. */
  readonly excess: number;
  /** What became of the tokens of the generation before. */
  readonly onEdit: OnEdit;
};

export type BucketKind = FormerBucket['kind'];
export type BucketState =
  GreedyState | IntervalState | FixedWindowState | SlidingLogState | SlidingCounterState | ConcurrencyState | PenaltyState;
export type BucketLevel = GreedyLevel | IntervalLevel | WindowLevel | PenaltyLevel | BlockedLevel;

/** A state as a store keeps it: with the generation of the numbers that it was written with. */
export interface StoredBucket {
  readonly state: BucketState;
  readonly generation: number;
}

type AnyAlgorithm = Algorithm<FormerBucket, BucketState, BucketLevel>;

/** Each algorithm is only ever given buckets, states and levels of its own, which the types of a table cannot say. */
const ALGORITHMS = {
  greedy: greedyRefill,
  interval: intervalRefill,
  fixed_window: fixedWindow,
  sliding_log: slidingLog,
  sliding_counter: slidingCounter,
  concurrency,
  penalty,
} as unknown as Record<BucketKind, AnyAlgorithm>;

/** @param timeZone of the merchant, for limits that follow the calendar and name no zone of their own */
export function bucketOf(limit: Limit, timeZone = 'Etc/UTC'): Bucket {
  return {
    ...formerBucketOf(limit, timeZone),
    elastic: limit.throttle === 'elastic',
    previous: limit.previous,
    timeZone,
  };
}

/** The numbers of a limit from the oldest that it remembers to the present ones. Made when they are asked for: few buckets are that old. */
export function generationsOf(bucket: Bucket): readonly FormerBucket[] {
  let generations = GENERATIONS.get(bucket);
  if (generations === undefined) {
    generations = [...bucket.previous.map((past) => formerBucketOf(past, bucket.timeZone)).reverse(), bucket];
    GENERATIONS.set(bucket, generations);
  }
  return generations;
}

const GENERATIONS = new WeakMap<Bucket, readonly FormerBucket[]>();

/** Edits of a penalty need no history: what it remembers are instants. */
export function bucketOfPenalty(numbers: Penalty, watches: number): Bucket & PenaltyBucket {
  return {
    ...penaltyBucket(numbers, watches),
    generation: 0,
    startedAtUs: 0,
    missingAtStart: NOTHING,
    excess: 0,
    onEdit: 'as_is',
    elastic: false,
    previous: [],
    timeZone: '',
  };
}

function formerBucketOf(limit: Limit | PastLimit, timeZone: string): FormerBucket {
  const capacity = capacityOf(limit) + excessOf(limit);
  const missingAtStart = missingFrom(capacity, limit.since);
  const startedAtUs = limit.since.atMs * 1000;
  return {
    ...startedBucket(limit, capacity, missingAtStart, startedAtUs, timeZone),
    generation: limit.generation,
    startedAtUs,
    missingAtStart,
    excess: excessOf(limit),
    onEdit: limit.onEdit ?? 'as_is',
  };
}

function missingFrom(capacity: number, { tokens, fraction }: LimitStart): Amount {
  return fraction === undefined
    ? wholeAmount(capacity - tokens)
    : { whole: capacity - tokens - 1, part: fraction.of - fraction.part, of: fraction.of };
}

function startedBucket(limit: Limit | PastLimit, capacity: number, missing: Amount, startedAtUs: number, timeZone: string): BucketNumbers {
  const started = <B extends { start: S }, S>(
    numbers: Omit<B, 'start'>,
    { stateMissing }: Pick<Algorithm<B, S, never>, 'stateMissing'>,
  ): B => ({ ...numbers, start: stateMissing(numbers as B, missing, startedAtUs) }) as B;
  switch (limit.algorithm) {
    case 'token_bucket':
      return limit.refill === 'interval'
        ? started<IntervalBucket, IntervalState>(
            { kind: 'interval', capacity, refillTokens: limit.refillTokens, ...stepsOf(limit, timeZone) },
            intervalRefill,
          )
        : greedyBucket(capacity, rateOf(limit.refillTokens, limit.refillIntervalMs!), missing, startedAtUs);
    case 'gcra':
      // A theoretical arrival time is the instant at which the bucket will be full.
      return greedyBucket(capacity, rateOf(limit.refillTokens, limit.refillIntervalMs), missing, startedAtUs);
    case 'leaky_bucket':
      // What is missing from a token bucket is what stands in this one.
      return {
        ...greedyBucket(capacity, rateOf(limit.drainTokens, limit.drainIntervalMs), missing, startedAtUs),
        ...('onLimit' in limit && limit.onLimit && { maxWaitUs: limit.onLimit.delay.maxWaitMs * 1000 }),
      };
    case 'fixed_window': {
      const windows =
        limit.calendar === undefined ? equalWindows(limit.windowMs! * 1000) : calendarWindows(limit.calendar, limit.timeZone ?? timeZone);
      return started<FixedWindowBucket, FixedWindowState>(
        { kind: limit.algorithm, limit: capacity, startsWith: limit.start, windows },
        fixedWindow,
      );
    }
    case 'sliding_log':
      return started<SlidingLogBucket, SlidingLogState>(
        { kind: limit.algorithm, limit: capacity, windowUs: limit.windowMs * 1000 },
        slidingLog,
      );
    case 'sliding_counter':
      return started<SlidingCounterBucket, SlidingCounterState>(
        { kind: limit.algorithm, limit: capacity, parts: limit.parts, partUs: (limit.windowMs * 1000) / limit.parts },
        slidingCounter,
      );
    case 'concurrency':
      return { kind: limit.algorithm, limit: capacity, slotTimeoutUs: limit.slotTimeoutMs * 1000, start: { slots: [] } };
  }
}

/** When a bucket is refilled that is refilled in steps. */
function stepsOf(
  { refillIntervalMs, align, calendar, timeZone }: StepNumbers,
  merchantZone: string,
): Pick<IntervalBucket, 'intervalUs' | 'windows' | 'longestUs'> {
  if (calendar !== undefined)
    return { intervalUs: 0, windows: calendarWindows(calendar, timeZone ?? merchantZone), longestUs: CALENDAR_MS[calendar] * 1000 };
  const intervalUs = refillIntervalMs! * 1000;
  return align === 'clock' ? { intervalUs, windows: equalWindows(intervalUs) } : { intervalUs };
}

type StepNumbers = Pick<TokenBucketSpec, 'refillIntervalMs' | 'align' | 'calendar' | 'timeZone'>;

/**
 * A bucket that is missing from a store is one left alone since its limit started. Who looks before that, because clocks differ, finds
 * the start: then a store keeps what is missing from it, so that it refills from then on.
 */
export function startState(bucket: FormerBucket, nowUs: number): BucketState {
  return nowUs >= bucket.startedAtUs || bucket.start === FULL_AT_START ? bucket.start : stateMissing(bucket, bucket.missingAtStart, nowUs);
}

/** Whether the state of a missing bucket has to be kept although nothing was taken: it is not full, and its limit has not started yet. */
export function isEarly({ startedAtUs, missingAtStart }: FormerBucket, nowUs: number): boolean {
  return nowUs < startedAtUs && (missingAtStart.whole > 0 || missingAtStart.part > 0);
}

/** The state as it may be at an instant: the same object, unless the clock stepped back, or it is worse than an empty bucket. */
export function clamped(bucket: FormerBucket, state: BucketState, nowUs: number): BucketState {
  return ALGORITHMS[bucket.kind].clamped(bucket, state, nowUs);
}

/** What the bucket holds at an instant at which the state was clamped, for a request that asks `cost` of it. */
export function levelAt(bucket: FormerBucket, state: BucketState, nowUs: number, cost: number): BucketLevel {
  return ALGORITHMS[bucket.kind].level(bucket, state, nowUs, cost);
}

export function allows(bucket: FormerBucket, level: BucketLevel, cost: number): boolean {
  return ALGORITHMS[bucket.kind].allows(bucket, level, cost);
}

/** The state after a take that passed. Taking nothing changes nothing. */
export function stateAfter(
  bucket: FormerBucket,
  state: BucketState,
  level: BucketLevel,
  cost: number,
  nowUs: number,
  slot: number,
): BucketState {
  return ALGORITHMS[bucket.kind].after(bucket, state, level, cost, nowUs, slot);
}

/** Whether a limit that has nothing left is bypassed: it is elastic, and there is spare capacity. Nothing is taken from it then. */
export function isBypassed({ elastic }: Bucket, spare: boolean): boolean {
  return spare && elastic;
}

/** A level some microseconds after it was found, as far as that can be told from it, if nothing was taken or given meanwhile. */
export function levelLater(bucket: FormerBucket, level: BucketLevel, us: number): BucketLevel {
  if (us === 0) return level;
  if (isBlocked(level)) return { blockedForUs: Math.max(1, level.blockedForUs - us) };
  return ALGORITHMS[bucket.kind].later(bucket, level, us);
}

/** `taken` is false when another limit of the same request refused: then nothing was taken here either. */
export function decide(bucket: Bucket, level: BucketLevel, cost: number, taken: boolean, spare = false): Decision {
  if (isBlocked(level)) return blockedDecision(bucket, level, cost);
  if (isBypassed(bucket, spare) && !allows(bucket, level, cost)) {
    return { ...ALGORITHMS[bucket.kind].decide(bucket, level, cost, false), allowed: true, retryAfterMs: 0, overLimit: taken };
  }
  const decision = ALGORITHMS[bucket.kind].decide(bucket, level, cost, taken);
  const { excess } = bucket;
  if (excess === 0) return bucket.elastic ? { ...decision, overLimit: false } : decision;
  const { limit, remaining } = decision;
  return {
    ...decision,
    limit: limit - excess,
    remaining: Math.max(0, remaining - excess),
    overLimit: taken && cost > 0 && remaining < excess,
  };
}

/** Nobody knows what the bucket will hold when the block is over; what it never holds at once it will not hold then. */
function blockedDecision(bucket: Bucket, { blockedForUs }: BlockedLevel, cost: number): Decision {
  const waitMs = ceilMs(blockedForUs, 0);
  const isQueue = bucket.kind === 'greedy' && bucket.maxWaitUs !== undefined;
  return {
    allowed: false,
    limit: mostTokens(bucket) - bucket.excess,
    remaining: 0,
    retryAfterMs: bucket.kind !== 'penalty' && cost > mostTokens(bucket) ? 'never' : waitMs,
    resetAfterMs: waitMs,
    blocked: true,
    ...(isQueue && { waitMs: 0 }),
    ...((bucket.elastic || bucket.excess > 0) && { overLimit: false }),
  };
}

/** The state without a request that passed, as far as what it took has not come back by itself. */
export function refunded(bucket: FormerBucket, state: BucketState, past: PastTake<BucketLevel>, nowUs: number): BucketState {
  return past.cost === 0 ? state : ALGORITHMS[bucket.kind].refunded(bucket, state, past, nowUs);
}

/** Whether the bucket has tokens that an operator can add or take. */
export function canBeAdjusted({ kind }: FormerBucket): boolean {
  return ALGORITHMS[kind].adjusted !== undefined;
}

/** The state after an operator has added tokens, or taken them (negative), at an instant at which it was clamped. */
export function adjusted(bucket: FormerBucket, state: BucketState, tokens: number, nowUs: number): BucketState {
  return ALGORITHMS[bucket.kind].adjusted!(bucket, state, tokens, nowUs);
}

/** The tokens that are missing at an instant, exactly; negative for a surplus. */
export function missingAt(bucket: FormerBucket, state: BucketState, atUs: number): Amount {
  return ALGORITHMS[bucket.kind].missing(bucket, state, atUs);
}

export function isFull(bucket: FormerBucket, state: BucketState, nowUs: number): boolean {
  const { whole, part } = missingAt(bucket, state, nowUs);
  return whole < 0 || (whole === 0 && part === 0);
}

/** The state of a bucket from which so much is missing at an instant. */
export function stateMissing(bucket: FormerBucket, missing: Amount, atUs: number): BucketState {
  return ALGORITHMS[bucket.kind].stateMissing(bucket, missing, atUs);
}

/** The state of a bucket that has nothing to give at an instant. */
export function exhausted(bucket: FormerBucket, atUs: number): BucketState {
  return ALGORITHMS[bucket.kind].exhausted?.(bucket, atUs) ?? stateMissing(bucket, wholeAmount(mostTokens(bucket)), atUs);
}

/** The state under new numbers, if an edit changes nothing about it; undefined if it has to be carried over. */
export function keptState(from: FormerBucket, to: FormerBucket, state: BucketState): BucketState | undefined {
  return from.kind === to.kind ? ALGORITHMS[to.kind].keep?.(state) : undefined;
}

/** The most that can be taken at once. */
export function mostTokens(bucket: FormerBucket): number {
  if (bucket.kind === 'penalty') return bucket.refusals;
  return 'capacity' in bucket ? bucket.capacity : bucket.limit;
}

import { ALGORITHMS, penaltyBucket, type BucketLevel, type BucketNumbers, type BucketState } from '../algorithms/index.js';
import type { PastTake } from '../algorithms/algorithm.js';
import { NOTHING, wholeAmount, type Amount } from '../algorithms/amount.js';
import { ceilMs } from '../algorithms/exact-span.js';
import type { PenaltyBucket } from '../algorithms/penalty/penalty.js';
import { isBlocked, type BlockedLevel } from './block.js';
import type { Lending } from '../rules/consistency.js';
import type { Decision } from './decision.js';
import type { Leases } from './lease.js';
import { limitAlgorithm } from '../limits/limit-algorithm.js';
import { capacityOf, excessOf, type InForce, type Limit, type LimitStart, type OnEdit, type PastLimit } from '../limits/limit.js';
import type { Penalty } from '../rules/rule.js';

export type { BucketKind, BucketLevel, BucketState } from '../algorithms/index.js';

/**
 * A bucket: what one limit counts for one key. Whatever the algorithm, a store only needs what stands here. Pure: the caller
 * brings state and time and keeps what comes back.
 */

/** A limit made ready for decisions: everything that does not change between two requests is computed once. */
export type Bucket = BucketGeneration & {
  /** Lets pass what is over the limit while there is spare capacity. */
  readonly elastic: boolean;
  /** Former numbers, the newest first, for a bucket that was written before an edit: see `generationsOf`. */
  readonly previous: readonly PastLimit[];
  readonly timeZone: string;
  /** The bucket of which this is what others may take: see `withholding`. */
  readonly whole?: Bucket;
  /** How a process may decide about it without asking the store, if it may: see leasing/lendable-rule.ts. */
  readonly lending?: Lending;
  /** When its numbers hold, where that is known beforehand: outside of that time nothing is taken by them. */
  readonly inForce?: InForceUs;
};

/** From an instant on (unless a bucket has these numbers already), until another, and how long the numbers after them take to fill a bucket. */
export interface InForceUs {
  readonly fromUs: number;
  readonly untilUs: number;
  readonly fillsAfterUs: number;
}

/** The numbers of a limit from one edit to the next. */
export type BucketGeneration = BucketNumbers & {
  readonly generation: number;
  readonly startedAtUs: number;
  /** What was missing when the limit started; negative for a surplus. */
  readonly missingAtStart: Amount;
  /** Tokens above the limit that a soft one lets pass; they are part of its capacity here. */
  readonly excess: number;
  /** What became of the tokens of the generation before. */
  readonly onEdit: OnEdit;
  /** Tokens that a request must leave, because they are kept for others. Nearly always 0. */
  readonly withheld: number;
};

/** A state as a store keeps it: with the generation of the numbers that it was written with. */
export interface StoredBucket {
  readonly state: BucketState;
  readonly generation: number;
  /** What is lent of it; nothing, usually. */
  readonly leases?: Leases;
}

/** @param timeZone of the merchant, for limits that follow the calendar and name no zone of their own */
export function bucketOf(limit: Limit, timeZone = 'Etc/UTC'): Bucket {
  const { inForce, previous, throttle } = limit;
  const bucket = { ...generationOf(limit, timeZone), elastic: throttle === 'elastic', previous, timeZone };
  // All of one hidden class: see leasing/lendable-rule.ts.
  return inForce === undefined ? bucket : Object.assign({}, bucket, { inForce: inForceUs(inForce) });
}

function inForceUs({ fromMs, untilMs, fillsAfterMs = 0 }: InForce): InForceUs {
  return {
    fromUs: fromMs === undefined ? -Infinity : fromMs * 1000,
    untilUs: untilMs === undefined ? Infinity : untilMs * 1000,
    fillsAfterUs: fillsAfterMs * 1000,
  };
}

/**
 * Whether a bucket's numbers hold at an instant. What a bucket was written with holds for it also before it should: then the clock stepped back.
 *
 * @param written the generation that the bucket has; undefined if it is missing
 */
export function isInForce({ inForce, generation }: Bucket, written: number | undefined, nowUs: number): boolean {
  return inForce === undefined || (nowUs < inForce.untilUs && (nowUs >= inForce.fromUs || written === generation));
}

/** The numbers of a limit from the oldest that it remembers to the present ones. Made when they are asked for: few buckets are that old. */
export function generationsOf(bucket: Bucket): readonly BucketGeneration[] {
  let generations = GENERATIONS.get(bucket);
  if (generations === undefined) {
    generations = [...bucket.previous.map((past) => generationOf(past, bucket.timeZone)).reverse(), bucket];
    GENERATIONS.set(bucket, generations);
  }
  return generations;
}

const GENERATIONS = new WeakMap<Bucket, readonly BucketGeneration[]>();

/** Edits of a penalty need no history: what it remembers are instants. */
export function bucketOfPenalty(numbers: Penalty, watches: number): Bucket & PenaltyBucket {
  return {
    ...penaltyBucket(numbers, watches),
    generation: 0,
    startedAtUs: 0,
    missingAtStart: NOTHING,
    excess: 0,
    onEdit: 'as_is',
    withheld: 0,
    elastic: false,
    previous: [],
    timeZone: '',
  };
}

function generationOf(limit: Limit | PastLimit, timeZone: string): BucketGeneration {
  const capacity = capacityOf(limit) + excessOf(limit);
  const missingAtStart = missingFrom(capacity, limit.since);
  const startedAtUs = limit.since.atMs * 1000;
  return {
    ...limitAlgorithm(limit).bucketOf(limit, { capacity, missing: missingAtStart, startedAtUs, timeZone }),
    generation: limit.generation,
    startedAtUs,
    missingAtStart,
    excess: excessOf(limit),
    onEdit: limit.onEdit ?? 'as_is',
    withheld: 0,
  };
}

/** A bucket as those find it who have to leave so many of its tokens to others. It is the same bucket: only who asks differs. */
export function withholding(bucket: Bucket, tokens: number): Bucket {
  if (tokens === 0) return bucket;
  const differences: object = ALGORITHMS[bucket.kind].withholding?.(bucket, tokens) ?? {};
  // Of one hidden class, as in bucketOf.
  return Object.assign({}, bucket, differences, { withheld: tokens, whole: bucket });
}

/** What has to be in a bucket for a request to pass. One that takes nothing leaves whatever is there. */
export function neededFor({ withheld }: Pick<BucketGeneration, 'withheld'>, cost: number): number {
  return cost === 0 ? 0 : cost + withheld;
}

function missingFrom(capacity: number, { tokens, fraction }: LimitStart): Amount {
  return fraction === undefined
    ? wholeAmount(capacity - tokens)
    : { whole: capacity - tokens - 1, part: fraction.of - fraction.part, of: fraction.of };
}

/**
 * A bucket that is missing from a store is one left alone since its limit started. A look before that, because clocks differ, finds
 * the start: then a store keeps what is missing from it, so that it refills from then on.
 */
export function startState(bucket: BucketGeneration, nowUs: number): BucketState {
  return nowUs >= bucket.startedAtUs || ALGORITHMS[bucket.kind].startsFull?.(bucket)
    ? bucket.start
    : stateMissing(bucket, bucket.missingAtStart, nowUs);
}

/** Whether the state of a missing bucket has to be kept although nothing was taken: it is not full, and its limit has not started yet. */
export function isEarly({ startedAtUs, missingAtStart }: BucketGeneration, nowUs: number): boolean {
  return nowUs < startedAtUs && (missingAtStart.whole > 0 || missingAtStart.part > 0);
}

/** The state as it may be at an instant: the same object, unless the clock stepped back, or it is worse than an empty bucket. */
export function clamped(bucket: BucketGeneration, state: BucketState, nowUs: number): BucketState {
  return ALGORITHMS[bucket.kind].clamped(bucket, state, nowUs);
}

/** What the bucket holds at an instant at which the state was clamped, for a request that asks `cost` of it. */
export function levelAt(bucket: BucketGeneration, state: BucketState, nowUs: number, cost: number): BucketLevel {
  return levelFor(bucket, state, nowUs, neededFor(bucket, cost));
}

export function allows(bucket: BucketGeneration, level: BucketLevel, cost: number): boolean {
  return suffices(bucket, level, neededFor(bucket, cost));
}

/** The same for a request for which so much has to be there. */
export function levelFor(bucket: BucketGeneration, state: BucketState, nowUs: number, needed: number): BucketLevel {
  return ALGORITHMS[bucket.kind].level(bucket, state, nowUs, needed);
}

export function suffices(bucket: BucketGeneration, level: BucketLevel, needed: number): boolean {
  return ALGORITHMS[bucket.kind].allows(bucket, level, needed);
}

/** The state after a take that passed. Taking nothing changes nothing. */
export function stateAfter(
  bucket: BucketGeneration,
  state: BucketState,
  level: BucketLevel,
  cost: number,
  nowUs: number,
  holder: number,
): BucketState {
  return ALGORITHMS[bucket.kind].after(bucket, state, level, cost, nowUs, holder);
}

/** Whether a limit that has nothing left is bypassed: it is elastic, and there is spare capacity. Nothing is taken from it then. */
export function isBypassed({ elastic }: Bucket, spare: boolean): boolean {
  return spare && elastic;
}

/** A level some microseconds after it was found, as far as that can be told from it, if nothing was taken or given meanwhile. */
export function levelLater(bucket: BucketGeneration, level: BucketLevel, us: number): BucketLevel {
  if (us === 0) return level;
  if (isBlocked(level)) return { blockedForUs: Math.max(1, level.blockedForUs - us) };
  return ALGORITHMS[bucket.kind].later(bucket, level, us);
}

/** `taken` is false when another limit of the same request refused: then nothing was taken here either. */
export function decide(bucket: Bucket, level: BucketLevel, cost: number, taken: boolean, spare = false): Decision {
  if (isBlocked(level)) return blockedDecision(bucket, level, cost);
  // What few limits say more than their algorithm stands apart, so that the rest is short enough to be compiled into its callers.
  return bucket.elastic || bucket.excess > 0 || bucket.withheld > 0
    ? decideApart(bucket, level, cost, taken, spare)
    : ALGORITHMS[bucket.kind].decide(bucket, level, cost, taken);
}

/** The decision of a limit that may be exceeded, a soft or an elastic one, or of which something is kept for others. */
function decideApart(bucket: Bucket, level: BucketLevel, cost: number, taken: boolean, spare: boolean): Decision {
  const { elastic, excess, withheld } = bucket;
  const bypassed = isBypassed(bucket, spare) && !allows(bucket, level, cost);
  const takes = taken && !bypassed;
  // What is withheld counts as long as it is a question whether the request passes.
  const decision = ALGORITHMS[bucket.kind].decide(bucket, level, takes ? cost : neededFor(bucket, cost), takes);
  const left = decision.remaining - withheld;
  const shown = { ...decision, limit: decision.limit - excess, remaining: Math.max(0, left - excess), ...(withheld > 0 && { withheld }) };
  if (bypassed) return { ...shown, allowed: true, retryAfterMs: 0, overLimit: taken };
  return elastic || excess > 0 ? { ...shown, overLimit: taken && cost > 0 && left < excess } : shown;
}

/** Nobody knows what the bucket will hold when the block is over; what it never holds at once it will not hold then. */
function blockedDecision(bucket: Bucket, { blockedForUs }: BlockedLevel, cost: number): Decision {
  const waitMs = ceilMs(blockedForUs, 0);
  return {
    allowed: false,
    limit: bucket.capacity - bucket.excess,
    remaining: 0,
    retryAfterMs: neededFor(bucket, cost) > bucket.capacity ? 'never' : waitMs,
    resetAfterMs: waitMs,
    blocked: true,
    ...ALGORITHMS[bucket.kind].whenBlocked?.(bucket, waitMs),
    ...((bucket.elastic || bucket.excess > 0) && { overLimit: false }),
  };
}

/** The state without a request that passed, as far as what it took has not come back by itself. */
export function refunded(bucket: BucketGeneration, state: BucketState, past: PastTake<BucketLevel>, nowUs: number): BucketState {
  return past.cost === 0 ? state : ALGORITHMS[bucket.kind].refunded(bucket, state, past, nowUs);
}

/** The state at an instant of a bucket of which so much is lent: see `occupied` of its algorithm. Tokens that an edit has made too many fill it. */
export function occupied(bucket: BucketGeneration, state: BucketState, lent: number, atUs: number): BucketState {
  if (lent === 0) return state;
  return ALGORITHMS[bucket.kind].occupied?.(bucket, state, Math.min(lent, bucket.capacity), atUs) ?? state;
}

/** When leases of a bucket end at the latest, because its window does, or the time for which its numbers hold. */
export function leasesEndUs(bucket: Bucket, state: BucketState, nowUs: number): number {
  const ownUs = ALGORITHMS[bucket.kind].leasesEndUs?.(bucket, state, nowUs) ?? Infinity;
  return Math.min(ownUs, bucket.inForce?.untilUs ?? Infinity);
}

/** Whether the bucket has tokens that an operator can add or take. */
export function canBeAdjusted({ kind }: BucketGeneration): boolean {
  return ALGORITHMS[kind].adjusted !== undefined;
}

/** The state after an operator has added tokens, or taken them (negative), at an instant at which it was clamped. */
export function adjusted(bucket: BucketGeneration, state: BucketState, tokens: number, nowUs: number): BucketState {
  return ALGORITHMS[bucket.kind].adjusted!(bucket, state, tokens, nowUs);
}

/** The tokens that are missing at an instant, exactly; negative for a surplus. */
export function missingAt(bucket: BucketGeneration, state: BucketState, atUs: number): Amount {
  return ALGORITHMS[bucket.kind].missing(bucket, state, atUs);
}

export function isFull(bucket: BucketGeneration, state: BucketState, nowUs: number): boolean {
  const { whole, part } = missingAt(bucket, state, nowUs);
  return whole < 0 || (whole === 0 && part === 0);
}

/** The state of a bucket from which so much is missing at an instant. */
export function stateMissing(bucket: BucketGeneration, missing: Amount, atUs: number): BucketState {
  return ALGORITHMS[bucket.kind].stateMissing(bucket, missing, atUs);
}

/** The state of a bucket that has nothing to give at an instant. */
export function exhausted(bucket: BucketGeneration, atUs: number): BucketState {
  return ALGORITHMS[bucket.kind].exhausted?.(bucket, atUs) ?? stateMissing(bucket, wholeAmount(bucket.capacity), atUs);
}

/** The state under new numbers, if an edit changes nothing about it; undefined if it has to be carried over. */
export function keptState(from: BucketGeneration, to: BucketGeneration, state: BucketState): BucketState | undefined {
  return from.kind === to.kind ? ALGORITHMS[to.kind].keep?.(state) : undefined;
}

import type { Decision } from '../buckets/decision.js';
import type { Variant } from '../fields/field.js';
import type { Amount } from './amount.js';

/** A request that passed: what it found, what it took, and when. */
export interface PastTake<Level> {
  readonly level: Level;
  readonly cost: number;
  readonly takenAtUs: number;
  /** Names the request, where it holds something until it is released. */
  readonly holder: number;
}

/** How a limit begins: what its algorithm is told besides the numbers of the limit. */
export interface LimitBeginning {
  /** What can be taken at once, the excess of a soft limit included. Whole tokens. */
  readonly capacity: number;
  /** What is missing at the start; negative for a surplus. */
  readonly missing: Amount;
  readonly startedAtUs: number;
  /** Of the merchant, for limits that follow the calendar and name no zone of their own. */
  readonly timeZone: string;
}

/** How the quota of a limit comes back: `tokens` at once, every `everyMs`. */
export interface Pace {
  readonly tokens: number;
  readonly everyMs: number;
}

/** An algorithm as the rule language names it: what the numbers of a limit mean. Several of them may count in buckets of one kind. */
export interface LimitAlgorithm<Spec extends { readonly name: string }, Bucket, Table extends Variant = Variant> extends LimitMeaning<
  Omit<Spec, 'name'>,
  Bucket
> {
  /** The fields of its limits. */
  readonly table: Table;
}

/** What numbers that are known to be its own mean to an algorithm. */
export interface LimitMeaning<Numbers, Bucket> {
  bucketOf(numbers: Numbers, beginning: LimitBeginning): Bucket;
  /** The tokens that the limit says it starts with. Full if it says nothing, or this is missing. */
  initialTokens?(numbers: Numbers): number | undefined;
  /** The time in which so many tokens come back, at most; for slots, if none is released. `tokens` is at least 1. */
  quotaWindowMs(numbers: Numbers, tokens: number): number;
  /** Missing where it depends on what was taken when. */
  paceOf?(numbers: Numbers): Pace;
  /** How many tokens requests of one token each can take at once, where that is less than the limit holds. */
  mostAtOnce?(numbers: Numbers): number;
  /** The numbers that change where whole tokens come back so many times more slowly. Missing where nothing is refilled. */
  slowedDown?(numbers: Numbers, times: number): Partial<Numbers>;
}

/**
 * How the buckets of one kind count. Pure functions: `Bucket` is a limit made ready for decisions, `State` what a store keeps
 * of one bucket, `Level` what a decision needs to know of a state at an instant. Instants are whole microseconds.
 */
export interface BucketAlgorithm<Bucket, State, Level> {
  /**
   * The state as it may be at an instant: the same object, unless it comes from the future, because the clock stepped back, or is
   * worse than an empty bucket. Then the nearest state that is neither. A store writes it back, so that the bucket refills from then on.
   */
  clamped(bucket: Bucket, state: State, nowUs: number): State;
  /** What the bucket holds at an instant, for a request that asks `cost` of it. The state was clamped at that instant. */
  level(bucket: Bucket, state: State, nowUs: number, cost: number): Level;
  allows(bucket: Bucket, level: Level, cost: number): boolean;
  /** The state after a request that passed. `holder` names the request, where it holds something until it is released. */
  after(bucket: Bucket, state: State, level: Level, cost: number, nowUs: number, holder: number): State;
  /** `taken` is false when another limit of the same request refused: then nothing was taken here either. */
  decide(bucket: Bucket, level: Level, cost: number, taken: boolean): Decision;
  /** A level some microseconds after it was found, as far as that can be told from it, if nothing was taken or given meanwhile. */
  later(bucket: Bucket, level: Level, us: number): Level;
  /**
   * The state as if a request that passed had never come, as far as that can be told from it: gives back what the request took and
   * what has not come back by itself. Never more than that: nobody may have more than if the request had not come.
   */
  refunded(bucket: Bucket, state: State, past: PastTake<Level>, nowUs: number): State;
  /**
   * The tokens that are missing from a full bucket at an instant: for carrying a bucket over an edit. More than the capacity where
   * they were spent after that instant, by a gateway that did not know of the edit yet; negative for a surplus.
   */
  missing(bucket: Bucket, state: State, atUs: number): Amount;
  /** The state of a bucket from which so much is missing at an instant, rounded against the caller. */
  stateMissing(bucket: Bucket, missing: Amount, atUs: number): State;
  /**
   * The state after an operator has added tokens, up to a full bucket, or taken them (negative), down to an empty one; a surplus stays as it
   * is where tokens are added. The state was clamped at that instant. Missing where a bucket has no tokens.
   */
  adjusted?(bucket: Bucket, state: State, tokens: number, nowUs: number): State;
  /** The state of an empty bucket, where that is not one from which all tokens are missing. */
  exhausted?(bucket: Bucket, atUs: number): State;
  /** For a state that lives on as it is when only the numbers are edited. */
  keep?(state: State): State;
  /** Whether the start is the state of a full bucket at every instant, those before the limit started included. */
  startsFull?(bucket: Bucket): boolean;
  /** What of the bucket differs, besides the tokens, for those who have to leave so many of them to others. */
  withholding?(bucket: Bucket, tokens: number): Partial<Bucket>;
  /**
   * The state at an instant if so many whole tokens at least are missing, because they are lent, at most the capacity: what has refilled beyond that is
   * lost. Steps and windows stay where they are. Missing where tokens cannot be lent.
   */
  occupied?(bucket: Bucket, state: State, tokens: number, atUs: number): State;
  /** When all that is missing comes back at once: leases end then at the latest. Missing where tokens come back little by little. */
  leasesEndUs?(bucket: Bucket, state: State, nowUs: number): number;
  /** What a decision says otherwise while an operator blocks the bucket for `waitMs`. */
  whenBlocked?(bucket: Bucket, waitMs: number): Partial<Decision>;
}

/** A bucket with the state that it starts with, which follows from its other numbers. */
export function withStart<Bucket extends { readonly start: State }, State>(
  { stateMissing }: Pick<BucketAlgorithm<Bucket, State, never>, 'stateMissing'>,
  numbers: Omit<Bucket, 'start'>,
  { missing, startedAtUs }: LimitBeginning,
): Bucket {
  return { ...numbers, start: stateMissing(numbers as Bucket, missing, startedAtUs) } as Bucket;
}

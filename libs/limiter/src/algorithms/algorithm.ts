import type { Decision } from '../decision.js';

/** A request that passed: what it found, what it took, and when. */
export interface PastTake<Level> {
  readonly level: Level;
  readonly cost: number;
  readonly takenAtUs: number;
  readonly slot: number;
}

/**
 * What every algorithm is made of. Pure functions: `Bucket` is a limit made ready for decisions, `State` what a store keeps
 * of one bucket, `Level` what a decision needs to know of a state at an instant. Instants are whole microseconds.
 */
export interface Algorithm<Bucket, State, Level> {
  /** What the bucket holds at an instant, for a request that asks `cost` of it. */
  level(bucket: Bucket, state: State, nowUs: number, cost: number): Level;
  allows(bucket: Bucket, level: Level, cost: number): boolean;
  /** The state after a request that passed. `slot` names the request, where it holds something until it is released. */
  after(bucket: Bucket, state: State, level: Level, cost: number, nowUs: number, slot: number): State;
  /** `taken` is false when another limit of the same request refused: then nothing was taken here either. */
  decide(bucket: Bucket, level: Level, cost: number, taken: boolean): Decision;
  /**
   * The state as if a request that passed had never come, as far as that can be told from it: gives back what the request took and
   * what has not come back by itself. Never more than that: nobody may have more than if the request had not come.
   */
  refunded(bucket: Bucket, state: State, past: PastTake<Level>, nowUs: number): State;
  /** Tokens that could be taken at an instant, with their fraction: for carrying a bucket over an edit. */
  available(bucket: Bucket, state: State, nowUs: number): number;
  /** The state of a bucket that has this many tokens to give at an instant, rounded against the caller. */
  stateWith(bucket: Bucket, tokens: number, nowUs: number): State;
  /** For a state that lives on as it is when only the numbers are edited. */
  keep?(state: State): State;
}

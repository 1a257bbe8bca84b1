import type { Bucket, BucketLevel } from '../buckets/bucket.js';
import type { BucketOperation, BucketReading } from '../buckets/bucket-operation.js';
import type { Retry, RetryState } from '../retry-policy.js';
import type { BucketTake, SlotHolder, TakeRequest } from '../buckets/take.js';

/**
 * What a store wants to hear again with a refund of one take, beside its level; nobody else looks at it. It does not stand in the level, because levels
 * that all look alike cost less.
 */
export type TakeMark = object;

/** In the order of the takes. */
export type TakeMarks = readonly (TakeMark | undefined)[];

/** What a request took, so that it can be given back. */
export interface Receipt extends SlotHolder {
  /** What each bucket held before. */
  readonly levels: readonly BucketLevel[];
  /** By the clock of the store, in microseconds. */
  readonly takenAtUs: number;
  /** Of each take, if the store has answered any. */
  readonly marks?: TakeMarks | undefined;
  /** Then nothing is given back if a retry went by without being charged: what was taken is for that one. */
  readonly retry?: Retry | undefined;
}

/** What each bucket held before, in the order asked; or why there is no answer. */
export type TakeOutcome = readonly BucketLevel[] | StoreUnavailableError | NewerRulesError;

/**
 * `atUs` is when it was taken, by the clock of the store; 0 if there is no answer. `source`: the store, unless it says otherwise. `state`: see RetryState.
 */
export type TakeAnswer = (outcome: TakeOutcome, atUs: number, source?: TakeSource, state?: RetryState, marks?: TakeMarks) => void;

/**
 * Who has answered: the store; a memory of what it has refused a moment ago, see refusal-memory.ts; this process, from tokens that it was lent or by what
 * it has last heard, see leasing/leasing-bucket-store.ts.
 */
export type TakeSource = 'store' | 'memory' | 'lease' | 'optimistic';

/**
 * Where buckets live. When several processes share one, the store owns the clock: theirs differ, and a bucket refilled
 * by two clocks gives out more than its rate.
 */
export interface BucketStore {
  /**
   * Takes from all buckets of a request or from none, atomically, as `takeAll` does, and answers what each held before. From that
   * `allPass` and `decide` say the rest, so that no store has an opinion of its own.
   *
   * Calls back once, perhaps before it returns: with a StoreUnavailableError if there is no answer in time (the tokens are
   * then perhaps taken), with a NewerRulesError if a bucket was written under numbers newer than the caller's. A callback,
   * because at hundreds of thousands of takes a second promises would cost more than the takes.
   */
  take(request: TakeRequest, answer: TakeAnswer): void;

  /** Frees the slots that a request holds. To call it again does no harm. A slot that is not freed times out. */
  release(request: SlotHolder): void;

  /**
   * Gives back what a request took and what has not come back by itself. The store does not remember what it has given back:
   * that nobody asks twice is the caller's to see to. If the store is away, what was taken stays taken.
   */
  refund(receipt: Receipt): void;
}

/** Answers what a take would find. */
export interface BucketLooker {
  /**
   * What a take would find in its bucket, for its cost, without taking. Writes nothing but what a take that is refused would mend. Rejects with a
   * NewerRulesError or a StoreUnavailableError, as takes do.
   */
  look(take: BucketTake): Promise<BucketLevel>;
}

/**
 * What operators do to live buckets. Every store of buckets can do it; those who take do not need it, so it is a port of its own. All who share
 * the buckets feel it with their next take; who remembers a refusal, within a second.
 */
export interface BucketOperator {
  /**
   * Carries out one operation on one bucket, atomically, and says what the bucket holds after it. A missing bucket is one left alone since its
   * limit started. Reading writes nothing but what a look of a request would mend.
   *
   * Rejects with an InvalidOperationError or an OperationNotPossibleError, nothing being done; with a NewerRulesError as takes do; and with a
   * StoreUnavailableError when there is no answer in time: whether it was carried out is unknown then.
   *
   * @param key as in a take of the bucket
   */
  operate(key: string, bucket: Bucket, operation: BucketOperation): Promise<BucketReading>;
}

/** What the platform can carry beyond its present load, as it was measured. */
export interface SpareCapacity {
  /** Room for one request: 0 if there is none, otherwise what `giveBack` is to be told. */
  reserve(): number;
  /** The room was not needed. */
  giveBack(room: number): void;
}

/** Nobody measures: elastic limits are hard. */
export const NO_SPARE_CAPACITY: SpareCapacity = { reserve: () => 0, giveBack: () => {} };

/** Milliseconds since 1970; fractions are microseconds. */
export type Clock = () => number;

/** No answer: a failure, not a refusal. What it means is the rule's to say. */
export class StoreUnavailableError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'StoreUnavailableError';
  }
}

/**
 * The caller decides by an outdated copy of the rules, or by numbers that do not hold now: nothing was taken, fetch them again, or take those
 * of the present.
 */
export class NewerRulesError extends Error {
  /** @param atUs when it was, by the clock of the store, in microseconds; 0 if that is not known */
  constructor(readonly atUs = 0) {
    super('the bucket was written under newer rules');
    this.name = 'NewerRulesError';
  }
}

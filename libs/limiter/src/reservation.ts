import type { BucketLevel } from './buckets/bucket.js';
import type { CompiledCharge } from './rules/charge.js';
import type { AnswerFacts } from './matching/descriptor.js';
import type { BucketStore, Receipt, TakeMarks } from './stores/ports.js';
import type { Retry, RetryState } from './retry-policy.js';
import { takesOfRetry } from './retry.js';
import type { BucketTake, TakeRequest } from './buckets/take.js';

/** What a rule charges only once there is an answer: some of the takes of a request, one behind the other. */
export interface ChargedTakes {
  readonly charge: CompiledCharge;
  /** Index of the first. */
  readonly from: number;
  /** Behind the last. */
  readonly to: number;
}

const NOTHING_CHARGED: readonly ChargedTakes[] = [];
const NO_ANSWER: AnswerFacts = {};

/**
 * What a request asks of the buckets of one store, and what it took. It is settled once: when the request is over, or as if the request had
 * never come. Whatever is said after that changes nothing.
 */
export class Reservation implements TakeRequest, Receipt {
  /** What each bucket held before; empty until the store has answered. */
  levels: readonly BucketLevel[] = [];
  takenAtUs = 0;
  marks: TakeMarks | undefined;
  private settled = false;
  /** Whether its retries are not charged. */
  private marked = false;

  constructor(
    readonly store: BucketStore,
    public takes: readonly BucketTake[],
    /** Whether it has slots that are to be released. */
    private readonly holdsSlots: boolean,
    readonly holder: number,
    readonly spare: boolean,
    readonly charged: readonly ChargedTakes[] = NOTHING_CHARGED,
    readonly retry?: Retry | undefined,
  ) {}

  /** How much of the answer has to be known when it is released. */
  get readsAnswer(): 'nothing' | 'head' | 'body' {
    if (this.charged.length === 0) return 'nothing';
    return this.charged.some(({ charge }) => charge.readsBody) ? 'body' : 'head';
  }

  /** What the store knows of its retries. */
  is(state: RetryState): void {
    if (state === 'retried') this.takes = takesOfRetry(this.takes);
    else this.marked = true;
  }

  /** What the store has answered. */
  answered(levels: readonly BucketLevel[], takenAtUs: number, marks?: TakeMarks): this {
    this.levels = levels;
    this.takenAtUs = takenAtUs;
    this.marks = marks;
    return this;
  }

  /**
   * The request is over: what it took stays taken, and its slots are free. What is charged only for some answers is given back if this is certainly none of them; an answer
   * that nobody knows may have been one.
   */
  release(answer: AnswerFacts = NO_ANSWER): void {
    if (this.settled) return;
    this.settled = true;
    // All in one: only the first of several could tell whether a retry went by.
    const spared = this.charged.filter(({ charge }) => !charge.stays(answer));
    if (spared.length > 0) {
      const of = <T>(list: readonly T[]): T[] => spared.flatMap(({ from, to }) => list.slice(from, to));
      const { takes, levels, takenAtUs, holder, marks } = this;
      this.store.refund({ takes: of(takes), levels: of(levels), takenAtUs, holder, marks: marks && of(marks), retry: this.markedRetry });
    }
    if (this.holdsSlots) this.store.release(this);
  }

  /** The request did not use what it took. */
  refund(): void {
    if (this.settled) return;
    this.settled = true;
    const { takes, levels, takenAtUs, holder, marks } = this;
    this.store.refund({ takes, levels, takenAtUs, holder, marks, retry: this.markedRetry });
  }

  private get markedRetry(): Retry | undefined {
    return this.marked ? this.retry : undefined;
  }
}

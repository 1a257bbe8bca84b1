import type { BucketLevel } from './bucket.js';
import type { CompiledCharge } from './charge.js';
import type { AnswerFacts } from './descriptor.js';
import type { BucketStore, Receipt } from './ports.js';
import type { BucketTake, TakeRequest } from './take.js';

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
  private settled = false;

  constructor(
    readonly store: BucketStore,
    readonly takes: readonly BucketTake[],
    /** Whether it has slots that are to be released. */
    private readonly holdsSlots: boolean,
    readonly holder: number,
    readonly spare: boolean,
    private readonly charged: readonly ChargedTakes[] = NOTHING_CHARGED,
  ) {}

  /** How much of the answer has to be known when it is released. */
  get readsAnswer(): 'nothing' | 'head' | 'body' {
    if (this.charged.length === 0) return 'nothing';
    return this.charged.some(({ charge }) => charge.readsBody) ? 'body' : 'head';
  }

  /** What the store has answered. */
  answered(levels: readonly BucketLevel[], takenAtUs: number): this {
    this.levels = levels;
    this.takenAtUs = takenAtUs;
    return this;
  }

  /**
   * The request is over: what it took stays taken, and its slots are free. What is charged only for some answers is given back if this is certainly none of them; an answer
   * that nobody knows may have been one.
   */
  release(answer: AnswerFacts = NO_ANSWER): void {
    if (this.settled) return;
    this.settled = true;
    for (const { charge, from, to } of this.charged) {
      if (charge.stays(answer)) continue;
      const { takes, levels, takenAtUs, holder } = this;
      this.store.refund({ takes: takes.slice(from, to), levels: levels.slice(from, to), takenAtUs, holder });
    }
    if (this.holdsSlots) this.store.release(this);
  }

  /** The request did not use what it took. */
  refund(): void {
    if (this.settled) return;
    this.settled = true;
    this.store.refund(this);
  }
}

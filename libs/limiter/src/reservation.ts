import type { BucketLevel } from './bucket.js';
import type { BucketStore, Receipt } from './ports.js';
import type { BucketTake, TakeRequest } from './take.js';

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
  ) {}

  /** What the store has answered. */
  answered(levels: readonly BucketLevel[], takenAtUs: number): this {
    this.levels = levels;
    this.takenAtUs = takenAtUs;
    return this;
  }

  /** The request is over: what it took stays taken, and its slots are free. */
  release(): void {
    if (this.settled) return;
    this.settled = true;
    if (this.holdsSlots) this.store.release(this);
  }

  /** The request did not use what it took. */
  refund(): void {
    if (this.settled) return;
    this.settled = true;
    this.store.refund(this);
  }
}

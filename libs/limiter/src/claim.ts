import type { BucketLevel } from './bucket.js';
import type { BucketStore, BucketTake, Receipt } from './ports.js';

/**
 * What a request asks of the buckets of one store, and what it got. It is settled once: at the end of the request, or as if it
 * had never come; whatever is said after that changes nothing.
 */
export class Claim implements Receipt {
  /** What each bucket held before; empty until the store has answered. */
  levels: readonly BucketLevel[] = [];
  takenAtUs = 0;
  private settled = false;

  constructor(
    readonly store: BucketStore,
    readonly takes: readonly BucketTake[],
    /** Whether it has slots that are to be released. */
    readonly holdsSlots: boolean,
    readonly slot: number,
  ) {}

  /** What the store has said. */
  answered(levels: readonly BucketLevel[], takenAtUs: number): this {
    this.levels = levels;
    this.takenAtUs = takenAtUs;
    return this;
  }

  /** The request is over: what it took stays taken, and its slots are free. */
  release(): void {
    if (this.settled) return;
    this.settled = true;
    if (this.holdsSlots) this.store.release(this.takes, this.slot);
  }

  /** The request did not use what it took. */
  refund(): void {
    if (this.settled) return;
    this.settled = true;
    this.store.refund(this);
  }
}

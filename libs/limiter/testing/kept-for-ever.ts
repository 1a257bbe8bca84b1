import {
  allows,
  clamped,
  decide,
  levelAt,
  missingAfterEdit,
  missingAt,
  stateAfter,
  stateMissing,
  type Bucket,
  type BucketState,
  type Decision,
  type OnEdit,
} from '../src/index.js';

/** A bucket that is carried over at the moment of each edit, and needs no history: what a store that forgets is compared with. */
export class KeptForEver {
  private state: BucketState;

  constructor(private bucket: Bucket) {
    this.state = bucket.start;
  }

  edit(next: Bucket, atUs: number, onEdit: OnEdit = next.onEdit): void {
    const missing = missingAfterEdit(onEdit, missingAt(this.bucket, this.state, atUs), this.bucket.capacity, next.capacity);
    this.state = stateMissing(next, missing, atUs);
    this.bucket = next;
  }

  take(cost: number, nowUs: number): Decision {
    const { bucket } = this;
    this.state = clamped(bucket, this.state, nowUs);
    const level = levelAt(bucket, this.state, nowUs, cost);
    const allowed = allows(bucket, level, cost);
    if (allowed && cost > 0) this.state = stateAfter(bucket, this.state, level, cost, nowUs, 0);
    return decide(bucket, level, cost, allowed);
  }
}

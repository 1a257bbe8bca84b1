import type { BucketLender, BucketStore, LendAnswer, LendRequest, MemoryBucketStore, TakeAnswer, TakeRequest } from '#limiter';

/** As in RedisBucketStore. */
const MOST_IN_A_CALL = 128;

/** What one instance asks of the store that all share: gathered until the next step, when the answers come. Counts. */
export class GatheringStore implements BucketStore, BucketLender {
  takes = 0;
  lends = 0;
  calls = 0;
  private waitingTakes: (() => void)[] = [];
  private waitingLends: (() => void)[] = [];

  constructor(private readonly shared: MemoryBucketStore) {}

  take(request: TakeRequest, answer: TakeAnswer): void {
    this.waitingTakes.push(() => this.shared.take(request, answer));
  }

  lend(request: LendRequest, answer: LendAnswer): void {
    this.waitingLends.push(() => this.shared.lend(request, answer));
  }

  /** Requests of a simulation hold no slots. */
  release(): void {}

  /** Nor is one given back. */
  refund(): void {}

  /** What waits is carried out. What that asks in turn waits until the next time. */
  deliver(): void {
    const [takes, lends] = [this.waitingTakes, this.waitingLends];
    this.waitingTakes = [];
    this.waitingLends = [];
    this.takes += takes.length;
    this.lends += lends.length;
    this.calls += Math.ceil(takes.length / MOST_IN_A_CALL) + Math.ceil(lends.length / MOST_IN_A_CALL);
    for (const run of takes) run();
    for (const run of lends) run();
  }
}

import { NewerRulesError, StoreUnavailableError, type BucketLooker, type BucketStore, type TakeAnswer } from './ports.js';
import type { TakeRequest } from '../buckets/take.js';

/** Answers what a request would find, and takes nothing: a RateLimiter on it says what it would decide, by the same code. */
export class LookingStore implements BucketStore {
  constructor(private readonly buckets: BucketLooker) {}

  /** Looks at one bucket after the other, so what requests take meanwhile may show in some of them. */
  take({ takes }: TakeRequest, answer: TakeAnswer): void {
    Promise.all(takes.map((take) => this.buckets.look(take))).then(
      (levels) => answer(levels, 0),
      (error: unknown) =>
        answer(
          error instanceof NewerRulesError || error instanceof StoreUnavailableError ? error : new StoreUnavailableError(String(error)),
          0,
        ),
    );
  }

  release(): void {}

  refund(): void {}
}

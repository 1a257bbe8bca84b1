import type { BucketLender, LendOutcome, LendRequest } from '../buckets/lend.js';
import type { BucketTake } from '../buckets/take.js';
import type { BucketStore, TakeAnswer } from '../stores/ports.js';
import type { LeaseCounts } from './lease-counts.js';
import type { LocalBucket } from './local-bucket.js';

/** What a report says of a bucket: see LendRequest. */
export type ReportWords = Pick<LendRequest, 'holds' | 'givesBack' | 'overspent' | 'wants'>;

export interface ReportingOptions {
  /** Names this process among all that lease from the store: from 1 to 2^32 - 1. */
  readonly lessee: number;
  /** A lease ends so long after it was asked for. Milliseconds. */
  readonly horizonMs: number;
}

/** The calls by which a process tells the store what it has decided by itself, and asks it for tokens. */
export class StoreReports {
  /** Calls that are not answered yet. */
  underWay = 0;
  /** One for all buckets, so that a lease that is made anew goes on where the one before ended. */
  private sequence = 0;
  private afterEach: ((outcome: LendOutcome | undefined) => void) | undefined;
  private whenDone: (() => void) | undefined;

  constructor(
    private readonly store: BucketStore,
    private readonly lender: BucketLender,
    private readonly counts: LeaseCounts,
    private readonly options: ReportingOptions,
  ) {}

  lend({ key, bucket }: LocalBucket, words: ReportWords, answer: (outcome: LendOutcome, atUs: number) => void): void {
    const { lessee, horizonMs } = this.options;
    this.begun();
    const request = { key, bucket, lessee, sequence: ++this.sequence, forUs: horizonMs * 1000, ...words };
    this.lender.lend(request, (outcome, atUs) => {
      answer(outcome, atUs);
      this.ended(outcome);
    });
  }

  /** Takes what was spent already, as a request would: the store has it ready, so that costs less than a report. */
  take(take: BucketTake, answer: TakeAnswer): void {
    this.begun();
    this.store.take({ takes: [take], holder: 0, spare: false }, (...found) => {
      const [outcome] = found;
      answer(...found);
      this.ended(outcome instanceof Error ? outcome : undefined);
    });
  }

  /** Resolves when no call is under way. @param afterEach called with each answer, which may bring about the next call */
  drained(afterEach: (outcome: LendOutcome | undefined) => void): Promise<void> {
    this.afterEach = afterEach;
    return new Promise((resolve) => {
      if (this.underWay === 0) resolve();
      else this.whenDone = resolve;
    });
  }

  private begun(): void {
    this.underWay++;
    this.counts.reports++;
  }

  private ended(outcome: LendOutcome | undefined): void {
    this.underWay--;
    this.afterEach?.(outcome);
    if (this.underWay === 0) this.whenDone?.();
  }
}

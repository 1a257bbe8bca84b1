import type { Bucket } from '../buckets/bucket.js';
import type { BucketOperation, BucketReading } from '../buckets/bucket-operation.js';
import { RefusalMemory } from './refusal-memory.js';
import type { BucketOperator, BucketStore, Clock, Receipt, TakeAnswer } from './ports.js';
import { allPass, type PenaltyTake, type SlotHolder, type TakeRequest } from '../buckets/take.js';

/** Refusals that a penalty counts, and that the store has not been told of. */
interface Untold {
  readonly take: PenaltyTake;
  readonly firstAtMs: number;
  count: number;
}

/** So many penalties wait to be told of their refusals, at most. */
const MOST_UNTOLD = 1000;

/** Requests that may be retries, for which the store is asked though it has refused a moment ago: a second and a bucket, and of so many buckets. */
const MOST_ASKED_FOR_RETRIES = 20;
const MOST_BUCKETS_ASKED = 10_000;

const NOBODY_WAITS = (): void => {};

/**
 * A store of buckets that is not asked again what it has just refused: see RefusalMemory. Refunds and operations that go through here end
 * what is remembered of their buckets. What happens elsewhere is noticed when the refusal is over, or its memory, which comes first.
 */
export class RememberingBucketStore implements BucketStore, BucketOperator {
  private readonly untold = new Map<string, Untold>();
  /** By bucket, in this second. */
  private readonly askedForRetries = new Map<string, number>();
  private askedSinceMs = -Infinity;

  /** @param now of a clock that is never set */
  constructor(
    private readonly store: BucketStore & BucketOperator,
    private readonly now: Clock,
    private readonly memory = new RefusalMemory(),
  ) {}

  take(request: TakeRequest, answer: TakeAnswer): void {
    const sentAtMs = this.now();
    const mustAsk = request.retry !== undefined && this.mayBeRetry(request, sentAtMs);
    const levels = mustAsk ? undefined : this.memory.recall(request, sentAtMs, this.provoked);
    if (levels !== undefined) {
      answer(levels, 0, 'memory');
      return;
    }
    // First, so that the block begins with the request with which it has to.
    if (this.untold.size > 0) for (const { key } of request.takes) this.tellOf(key);
    this.store.take(request, (outcome, atUs, source, state) => {
      // Of a retry, which costs nothing, there is nothing to learn.
      if (!(outcome instanceof Error) && state !== 'retried') {
        if (allPass(request, outcome)) this.memory.passed(request, sentAtMs);
        else this.memory.remember(request, outcome, sentAtMs, this.now());
      }
      answer(outcome, atUs, source, state);
    });
  }

  /**
   * A request that may be a retry may pass where others are refused, so the store is asked all the same. Only so often a second for each bucket: whoever invents keys of idempotency
   * must not cost a call for each refusal.
   */
  private mayBeRetry({ takes }: TakeRequest, nowMs: number): boolean {
    const { key } = takes[0]!;
    if (!this.memory.has(key)) return false;
    if (nowMs - this.askedSinceMs >= 1000) {
      this.askedForRetries.clear();
      this.askedSinceMs = nowMs;
    }
    const asked = this.askedForRetries.get(key) ?? 0;
    if (asked >= MOST_ASKED_FOR_RETRIES || (asked === 0 && this.askedForRetries.size >= MOST_BUCKETS_ASKED)) return false;
    this.askedForRetries.set(key, asked + 1);
    return true;
  }

  release(request: SlotHolder): void {
    this.store.release(request);
  }

  refund(receipt: Receipt): void {
    const nowMs = this.now();
    for (const { key } of receipt.takes) this.memory.forget(key, nowMs);
    this.store.refund(receipt);
  }

  /** Something was given back to these buckets by another way. */
  forget(keys: readonly string[]): void {
    const nowMs = this.now();
    for (const key of keys) this.memory.forget(key, nowMs);
  }

  async operate(key: string, bucket: Bucket, operation: BucketOperation): Promise<BucketReading> {
    this.tellOf(key);
    try {
      return await this.store.operate(key, bucket, operation);
    } finally {
      if (operation.kind !== 'read') this.memory.forget(key, this.now());
    }
  }

  /**
   * Tells the store of the refusals that penalties count and that it was not asked about. To be called every now and then: a block begins as much
   * later, at most, where several processes refuse. If the store is away they are forgotten.
   */
  tell(): void {
    for (const key of this.untold.keys()) this.tellOf(key);
  }

  private readonly provoked = (take: PenaltyTake): void => {
    const untold = this.untold.get(take.key);
    if (untold !== undefined) {
      untold.count++;
      return;
    }
    if (this.untold.size >= MOST_UNTOLD) this.tell();
    this.untold.set(take.key, { take, firstAtMs: this.now(), count: 1 });
  };

  private tellOf(key: string): void {
    const untold = this.untold.get(key);
    if (untold === undefined) return;
    this.untold.delete(key);
    const {
      take: { bucket, cost },
      count,
      firstAtMs,
    } = untold;
    const sinceUs = Math.max(0, Math.round((this.now() - firstAtMs) * 1000));
    const take: PenaltyTake = { key, bucket, cost, untold: { count, sinceUs } };
    this.store.take({ takes: [take], holder: 0, spare: false }, NOBODY_WAITS);
  }
}

import { released, type ConcurrencyState } from './algorithms/concurrency.js';
import { stateOfStored } from './carry-over.js';
import { NewerRulesError, type BucketStore, type BucketTake, type Clock, type TakeOutcome } from './ports.js';
import { allows, availableAt, levelAt, mostTokens, stateAfter, type BucketLevel, type BucketState, type Bucket } from './bucket.js';

interface Entry {
  state: BucketState;
  bucket: Bucket;
}

/**
 * Buckets in this process. Bounded: when it is full, buckets that have filled up are dropped first (a missing bucket is
 * a full one); if there are none, the one that was created first goes, which may give its owner a fresh burst.
 */
export class MemoryBucketStore implements BucketStore {
  private readonly entries = new Map<string, Entry>();

  constructor(
    private readonly clock: Clock,
    private readonly maxBuckets = 100_000,
  ) {}

  get size(): number {
    return this.entries.size;
  }

  take(takes: readonly BucketTake[], answer: (outcome: TakeOutcome) => void, slot = 0): void {
    answer(this.takeNow(takes, slot));
  }

  release(takes: readonly BucketTake[], slot: number): void {
    for (const { key, bucket } of takes) {
      const entry = this.entries.get(key);
      if (bucket.kind === 'concurrency' && entry?.bucket.kind === 'concurrency') entry.state = released(entry.state as ConcurrencyState, slot);
    }
  }

  private takeNow(takes: readonly BucketTake[], slot: number): TakeOutcome {
    const nowUs = Math.round(this.clock() * 1000);
    const states: BucketState[] = [];
    const levels: BucketLevel[] = [];
    for (const { key, bucket, cost } of takes) {
      const entry = this.entries.get(key);
      const state = stateOfStored(bucket, entry && { state: entry.state, generation: entry.bucket.generation }, nowUs);
      if (state === undefined) return new NewerRulesError();
      states.push(state);
      levels.push(levelAt(bucket, state, nowUs, cost));
    }
    if (takes.every((take, i) => allows(take.bucket, levels[i]!, take.cost))) {
      takes.forEach(({ key, bucket, cost }, i) => {
        if (cost > 0) this.put(key, { state: stateAfter(bucket, states[i]!, levels[i]!, cost, nowUs, slot), bucket }, nowUs);
      });
    }
    return levels;
  }

  private put(key: string, entry: Entry, nowUs: number): void {
    if (this.entries.size >= this.maxBuckets && !this.entries.has(key)) this.makeRoom(nowUs);
    this.entries.set(key, entry);
  }

  /** Looks at a bounded number of the oldest entries, so that a flood of new keys costs each of them little. */
  private makeRoom(nowUs: number): void {
    let looked = 0;
    let oldest: string | undefined;
    for (const [key, { state, bucket }] of this.entries) {
      oldest ??= key;
      if (isFull(bucket, state, nowUs)) {
        this.entries.delete(key);
        return;
      }
      if (++looked === 64) break;
    }
    if (oldest !== undefined) this.entries.delete(oldest);
  }
}

function isFull(bucket: Bucket, state: BucketState, nowUs: number): boolean {
  return availableAt(bucket, state, nowUs) >= mostTokens(bucket);
}

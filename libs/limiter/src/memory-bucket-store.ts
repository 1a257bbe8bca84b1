import { released, type ConcurrencyState } from './algorithms/concurrency/concurrency.js';
import type { GreedyState } from './algorithms/token-bucket/greedy.js';
import { penalized, type PenaltyState } from './algorithms/penalty/penalty.js';
import { allPass, isProvoked } from './all-or-nothing.js';
import { clampedBlock, type Block, type BlockedLevel } from './block.js';
import {
  allows,
  clamped,
  isEarly,
  isFull,
  levelAt,
  refunded,
  startState,
  stateAfter,
  type Bucket,
  type BucketLevel,
  type BucketState,
} from './bucket.js';
import { checkOperation, operated, readingOf, type BucketOperation, type BucketReading, type HeldBucket } from './bucket-operation.js';
import { stateOfStored } from './carry-over.js';
import {
  NewerRulesError,
  type BucketOperator,
  type BucketStore,
  type BucketTake,
  type Clock,
  type Receipt,
  type TakeAnswer,
  type TakeOutcome,
} from './ports.js';

/**
 * Buckets in this process. Bounded: when it is full, buckets that have filled up are dropped first (a missing bucket is
 * a full one); if there are none, the one that was created first goes, which may give its owner a fresh burst.
 *
 * A bucket is a number, its slot, in lists that lie apart from the keys. With a million keys, what counts is how many places of the
 * memory have to be visited: an object a bucket would cost twice the memory and half of the speed.
 */
export class MemoryBucketStore implements BucketStore, BucketOperator {
  private readonly slots = new Map<string, number>();
  private readonly freeSlots: number[] = [];
  /** By slot: what a bucket was last written with. */
  private readonly buckets: Bucket[] = [];
  /** By slot, side by side: the instant of a greedy bucket, its part, the mark of the numbers that it was written with. */
  private numbers = new Float64Array(FIRST_SLOTS * WIDTH);
  /** By slot: the state of any other bucket. */
  private readonly others: BucketState[] = [];
  /** By slot: what an operator has blocked. Such a bucket has no mark, and its state is among the others. */
  private readonly blocks = new Map<number, Block>();

  constructor(
    private readonly clock: Clock,
    private readonly maxBuckets = 100_000,
  ) {}

  get size(): number {
    return this.slots.size;
  }

  take(takes: readonly BucketTake[], answer: TakeAnswer, slot = 0, spare = false): void {
    const nowUs = Math.round(this.clock() * 1000);
    answer(
      takes.length === 1 && takes[0]!.refused === undefined
        ? this.takeOne(takes[0]!, nowUs, slot)
        : this.takeAll(takes, nowUs, slot, spare),
      nowUs,
    );
  }

  release(takes: readonly BucketTake[], slot: number): void {
    const nowUs = Math.round(this.clock() * 1000);
    for (const { key, bucket } of takes) {
      if (bucket.kind !== 'concurrency') continue;
      const at = this.slots.get(key);
      if (at === undefined || this.buckets[at]!.kind !== 'concurrency') continue;
      const held = this.others[at] as ConcurrencyState;
      const left = released(held, slot);
      if (left !== held) this.put(key, at, this.buckets[at]!, left, nowUs);
    }
  }

  refund({ takes, levels, takenAtUs, slot }: Receipt): void {
    const nowUs = Math.round(this.clock() * 1000);
    this.release(takes, slot);
    takes.forEach(({ key, bucket, cost }, i) => {
      const level = levels[i]!;
      const at = this.slots.get(key);
      // A missing bucket is full, and an edit has carried over what there was: nothing to give back.
      if (at === undefined || bucket.kind === 'concurrency' || !allows(bucket, level, cost) || markOf(this.buckets[at]!) !== markOf(bucket))
        return;
      const state = this.stateAt(at);
      const after = refunded(bucket, state, { level, cost, takenAtUs, slot }, nowUs);
      if (after !== state) this.put(key, at, bucket, after, nowUs);
    });
  }

  async operate(key: string, bucket: Bucket, operation: BucketOperation): Promise<BucketReading> {
    checkOperation(bucket, operation);
    const nowUs = Math.round(this.clock() * 1000);
    const at = this.slots.get(key);
    const state = this.stateOf(key, at, bucket, nowUs, true);
    if (state === undefined) throw new NewerRulesError();
    const held: HeldBucket = { state, block: at === undefined ? undefined : this.blockAt(at, nowUs) };
    const after = operated(bucket, held, operation, nowUs);
    if (after !== held) this.keep(key, bucket, after, nowUs);
    return readingOf(bucket, levelAt(bucket, after.state, nowUs, 0), after.block === undefined ? 0 : after.block.untilUs - nowUs);
  }

  private takeOne(take: BucketTake, nowUs: number, slot: number): TakeOutcome {
    const { key, bucket, cost } = take;
    const at = this.slots.get(key);
    const state = this.stateOf(key, at, bucket, nowUs);
    if (state === undefined) {
      const why = this.whyNoState(key, bucket, nowUs);
      return why instanceof NewerRulesError ? why : [why];
    }
    const level = levelAt(bucket, state, nowUs, cost);
    if (cost > 0 && allows(bucket, level, cost))
      this.put(key, at ?? this.slots.get(key), bucket, stateAfter(bucket, state, level, cost, nowUs, slot), nowUs);
    return [level];
  }

  private takeAll(takes: readonly BucketTake[], nowUs: number, slot: number, spare: boolean): TakeOutcome {
    const states: BucketState[] = [];
    const levels: BucketLevel[] = [];
    for (const { key, bucket, cost } of takes) {
      const state = this.stateOf(key, this.slots.get(key), bucket, nowUs);
      const why = state === undefined ? this.whyNoState(key, bucket, nowUs) : undefined;
      if (why instanceof NewerRulesError) return why;
      // Of a blocked bucket nobody takes, so nobody asks for its state.
      states.push(state ?? bucket.start);
      levels.push(why ?? levelAt(bucket, state!, nowUs, cost));
    }
    const passes = allPass(takes, levels, spare);
    takes.forEach(({ key, bucket, cost, refused }, i) => {
      if (bucket.kind === 'penalty') {
        if ((passes && refused === undefined) || !isProvoked(takes, levels, i, spare)) return;
        this.put(
          key,
          this.slots.get(key),
          bucket,
          penalized(bucket, states[i] as PenaltyState, nowUs, refused?.count, nowUs - (refused?.sinceUs ?? 0)),
          nowUs,
        );
      } else if (passes && cost > 0 && allows(bucket, levels[i]!, cost)) {
        this.put(key, this.slots.get(key), bucket, stateAfter(bucket, states[i]!, levels[i]!, cost, nowUs, slot), nowUs);
      }
    });
    return levels;
  }

  /**
   * The state of a bucket as its present numbers see it, kept if that is not what is stored; undefined if it was written under newer ones, or
   * is blocked and nobody asks for what is beneath the block.
   */
  private stateOf(key: string, at: number | undefined, bucket: Bucket, nowUs: number, beneathBlock = false): BucketState | undefined {
    if (at === undefined) {
      const start = startState(bucket, nowUs);
      if (isEarly(bucket, nowUs)) this.put(key, at, bucket, start, nowUs);
      return start;
    }
    const stored = this.stateAt(at);
    const isMarked = this.numbers[at * WIDTH + MARK] === markOf(bucket);
    const state = isMarked
      ? clamped(bucket, stored, nowUs)
      : stateOfStored(bucket, { state: stored, generation: this.buckets[at]!.generation }, nowUs);
    if (state !== stored && state !== undefined) this.put(key, at, bucket, state, nowUs);
    return isMarked || beneathBlock || state === undefined || this.blockAt(at, nowUs) === undefined ? state : undefined;
  }

  private stateAt(at: number): BucketState {
    const first = at * WIDTH;
    const { numbers } = this;
    return numbers[first + MARK]! > 0 ? { whole: numbers[first]!, part: numbers[first + 1]! } : this.others[at]!;
  }

  private put(key: string, present: number | undefined, bucket: Bucket, state: BucketState, nowUs: number): void {
    const at = present ?? this.newSlot(key, nowUs);
    const first = at * WIDTH;
    const { numbers } = this;
    const mark = markOf(bucket);
    if (present === undefined || numbers[first + MARK] !== mark) {
      this.buckets[at] = bucket;
      if (this.blockAt(at, nowUs) !== undefined) {
        this.others[at] = state;
        return;
      }
      // Of a block that is over, a bucket that is written keeps nothing.
      this.blocks.delete(at);
      numbers[first + MARK] = mark;
    }
    if (bucket.kind === 'greedy') {
      const { whole, part } = state as GreedyState;
      numbers[first] = whole;
      numbers[first + 1] = part;
    } else {
      this.others[at] = state;
    }
  }

  /** Keeps what an operation has made of a bucket. */
  private keep(key: string, bucket: Bucket, { state, block }: HeldBucket, nowUs: number): void {
    const at = this.slots.get(key) ?? this.newSlot(key, nowUs);
    if (block === undefined) this.blocks.delete(at);
    else this.blocks.set(at, block);
    this.numbers[at * WIDTH + MARK] = NO_MARK;
    this.put(key, at, bucket, state, nowUs);
  }

  /** The block of a bucket, unless it is over; kept if the clock stepped back. */
  private blockAt(at: number, nowUs: number): Block | undefined {
    const stored = this.blocks.get(at);
    if (stored === undefined) return undefined;
    const block = clampedBlock(stored, nowUs);
    if (block !== stored) this.blocks.set(at, block);
    return block.untilUs > nowUs ? block : undefined;
  }

  /** Why `stateOf` has given none. */
  private whyNoState(key: string, bucket: Bucket, nowUs: number): BlockedLevel | NewerRulesError {
    const at = this.slots.get(key)!;
    if (this.buckets[at]!.generation > bucket.generation) return new NewerRulesError();
    return { blockedForUs: this.blockAt(at, nowUs)!.untilUs - nowUs };
  }

  private newSlot(key: string, nowUs: number): number {
    if (this.slots.size >= this.maxBuckets) this.makeRoom(nowUs);
    const at = this.freeSlots.pop() ?? this.slots.size;
    if ((at + 1) * WIDTH > this.numbers.length) {
      const larger = new Float64Array(2 * this.numbers.length);
      larger.set(this.numbers);
      this.numbers = larger;
    }
    this.slots.set(key, at);
    return at;
  }

  /** Looks at a bounded number of the oldest entries, so that a flood of new keys costs each of them little. */
  private makeRoom(nowUs: number): void {
    let looked = 0;
    let oldest: string | undefined;
    for (const [key, at] of this.slots) {
      const bucket = this.buckets[at]!;
      const isBlocked = this.blockAt(at, nowUs) !== undefined;
      if (!isBlocked) oldest ??= key;
      if (!isBlocked && isFull(bucket, this.stateAt(at), nowUs)) {
        this.drop(key);
        return;
      }
      if (++looked === 64) break;
    }
    // If all of them are blocked, the block that was put there first ends early.
    oldest ??= this.slots.keys().next().value;
    if (oldest !== undefined) this.drop(oldest);
  }

  private drop(key: string): void {
    const at = this.slots.get(key)!;
    this.freeSlots.push(at);
    this.blocks.delete(at);
    this.slots.delete(key);
  }
}

const FIRST_SLOTS = 1024;
/** Four numbers are half of a cache line: one visit. */
const WIDTH = 4;
const MARK = 2;
const NO_MARK = 0;

/** Tells generations apart, and greedy buckets, whose mark is positive, from others. */
function markOf({ kind, generation }: Bucket): number {
  return kind === 'greedy' ? generation + 1 : -generation - 1;
}

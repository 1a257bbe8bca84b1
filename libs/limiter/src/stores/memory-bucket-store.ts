import { released, type ConcurrencyState } from '../algorithms/concurrency/concurrency.js';
import type { GreedyState } from '../algorithms/token-bucket/greedy.js';
import { clampedBlock, type Block } from '../buckets/block.js';
import {
  allows,
  clamped,
  isEarly,
  isFull,
  isInForce,
  levelAt,
  refunded,
  startState,
  type Bucket,
  type BucketLevel,
  type BucketState,
} from '../buckets/bucket.js';
import {
  checkOperation,
  operated,
  readingOf,
  type BucketOperation,
  type BucketReading,
  type HeldBucket,
} from '../buckets/bucket-operation.js';
import { stateOfStored } from '../buckets/carry-over.js';
import { NO_LEASES, runningAt, type Leases } from '../buckets/lease.js';
import { lentOut, occupiedUntil, type LeasedBucket } from '../buckets/lending.js';
import { checkLend, type BucketLender, type LendAnswer, type LendRequest } from '../buckets/lend.js';
import {
  NewerRulesError,
  type BucketLooker,
  type BucketOperator,
  type BucketStore,
  type Clock,
  type Receipt,
  type TakeAnswer,
} from './ports.js';
import { takeAll, type BucketTake, type HeldState, type SlotHolder, type TakeRequest } from '../buckets/take.js';

/**
 * Buckets in this process. Bounded: when it is full, buckets that have filled up are dropped first (a missing bucket is
 * a full one); if there are none, the one that was created first goes, which may give its owner a fresh burst.
 *
 * A struct of arrays: a bucket is a row of some lists. With a million keys that is one cache miss for each take instead of three. An object for each
 * bucket would cost twice the memory and half of the speed.
 */
export class MemoryBucketStore implements BucketStore, BucketOperator, BucketLooker, BucketLender {
  private readonly rows = new Map<string, number>();
  private readonly freeRows: number[] = [];
  /** By row: what a bucket was last written with. */
  private readonly buckets: Bucket[] = [];
  /** By row, side by side: the instant of a greedy bucket, its part, the mark of the numbers that it was written with. */
  private numbers = new Float64Array(FIRST_ROWS * WIDTH);
  /** By row: the state of any other bucket. */
  private readonly others: BucketState[] = [];
  /** By row: what an operator has blocked. Such a bucket has no mark, and its state is among the others. */
  private readonly blocks = new Map<number, Block>();
  /** By row: what is lent of a bucket. Such a bucket has no mark either. */
  private readonly leases = new Map<number, Leases>();

  constructor(
    private readonly clock: Clock,
    private readonly maxBuckets = 100_000,
  ) {}

  get size(): number {
    return this.rows.size;
  }

  take(request: TakeRequest, answer: TakeAnswer): void {
    const nowUs = Math.round(this.clock() * 1000);
    const { takes } = request;
    const isOne = takes.length === 1;
    const row = isOne ? this.rows.get(takes[0]!.key) : undefined;
    const states = isOne ? [this.heldState(takes[0]!, row, nowUs)] : this.heldStates(takes, nowUs);
    if (isOne ? states[0] === undefined : states.includes(undefined)) {
      answer(new NewerRulesError(nowUs), nowUs);
      return;
    }
    const levels = takeAll(request, states, nowUs);
    for (let i = 0; i < takes.length; i++) {
      if (states[i] === undefined) continue;
      const { key, bucket } = takes[i]!;
      // Looked up again where a bucket may have made room for another. What changed is a state: a take never changes a block.
      this.put(key, row ?? this.rows.get(key), bucket, states[i] as BucketState, nowUs);
    }
    answer(levels, nowUs);
  }

  release({ takes, holder }: SlotHolder): void {
    const nowUs = Math.round(this.clock() * 1000);
    for (const { key, bucket } of takes) {
      if (bucket.kind !== 'concurrency') continue;
      const row = this.rows.get(key);
      if (row === undefined || this.buckets[row]!.kind !== 'concurrency') continue;
      const held = this.others[row] as ConcurrencyState;
      const left = released(held, holder);
      if (left !== held) this.put(key, row, this.buckets[row]!, left, nowUs);
    }
  }

  refund({ takes, levels, takenAtUs, holder }: Receipt): void {
    const nowUs = Math.round(this.clock() * 1000);
    this.release({ takes, holder });
    takes.forEach(({ key, bucket, cost }, i) => {
      const level = levels[i]!;
      const row = this.rows.get(key);
      // A missing bucket is full, and an edit has carried over what there was: nothing to give back.
      if (
        row === undefined ||
        bucket.kind === 'concurrency' ||
        !allows(bucket, level, cost) ||
        markOf(this.buckets[row]!) !== markOf(bucket)
      )
        return;
      const state = this.stateAt(row);
      const after = refunded(bucket, state, { level, cost, takenAtUs, holder }, nowUs);
      if (after !== state) this.put(key, row, bucket, after, nowUs);
    });
  }

  async look({ key, bucket, cost }: BucketTake): Promise<BucketLevel> {
    const nowUs = Math.round(this.clock() * 1000);
    const row = this.rows.get(key);
    const state = this.stateOf(key, row, bucket, nowUs);
    if (state === undefined) throw new NewerRulesError(nowUs);
    const block = row === undefined ? undefined : this.blockAt(row, nowUs);
    return block === undefined ? levelAt(bucket, state, nowUs, cost) : { blockedForUs: block.untilUs - nowUs };
  }

  async operate(key: string, bucket: Bucket, operation: BucketOperation): Promise<BucketReading> {
    checkOperation(bucket, operation);
    const nowUs = Math.round(this.clock() * 1000);
    const row = this.rows.get(key);
    const state = this.stateOf(key, row, bucket, nowUs);
    if (state === undefined) throw new NewerRulesError(nowUs);
    const leases = this.leasesOf(row);
    const held: HeldBucket = { state, block: row === undefined ? undefined : this.blockAt(row, nowUs) };
    const done = operated(bucket, held, operation, nowUs);
    const after = { ...done, state: occupiedUntil(bucket, done.state, leases, nowUs) };
    if (done !== held) this.keep(key, bucket, { ...after, leases }, nowUs);
    return readingOf(bucket, levelAt(bucket, after.state, nowUs, 0), after.block === undefined ? 0 : after.block.untilUs - nowUs);
  }

  lend(request: LendRequest, answer: LendAnswer): void {
    checkLend(request);
    const { key, bucket } = request;
    const nowUs = Math.round(this.clock() * 1000);
    const row = this.rows.get(key);
    const state = this.stateOf(key, row, bucket, nowUs);
    if (state === undefined) {
      answer(new NewerRulesError(nowUs), nowUs);
      return;
    }
    const found: LeasedBucket = { state, block: row === undefined ? undefined : this.blockAt(row, nowUs), leases: this.leasesOf(row) };
    const { left, lent } = lentOut(bucket, found, request, nowUs);
    if (left.state !== state || left.leases !== found.leases) this.keep(key, bucket, left, nowUs);
    answer(lent, nowUs);
  }

  private heldStates(takes: readonly BucketTake[], nowUs: number): (HeldState | undefined)[] {
    return takes.map((take) => this.heldState(take, this.rows.get(take.key), nowUs));
  }

  /** What a take finds; undefined if the bucket was written under newer rules. */
  private heldState({ key, bucket }: BucketTake, row: number | undefined, nowUs: number): HeldState | undefined {
    const state = this.stateOf(key, row, bucket, nowUs);
    if (row === undefined || state === undefined || this.blocks.size === 0) return state;
    const block = this.blockAt(row, nowUs);
    return block === undefined ? state : { blockedForUs: block.untilUs - nowUs };
  }

  /**
   * The state of a bucket as its present numbers see it, beneath a block if there is one, kept if that is not what is stored; undefined if it was
   * written under newer numbers, or these do not hold now.
   */
  private stateOf(key: string, row: number | undefined, bucket: Bucket, nowUs: number): BucketState | undefined {
    if (bucket.inForce !== undefined && !isInForce(bucket, row === undefined ? row : this.buckets[row]!.generation, nowUs))
      return undefined;
    if (row === undefined) {
      const start = startState(bucket, nowUs);
      if (isEarly(bucket, nowUs)) this.put(key, row, bucket, start, nowUs);
      return start;
    }
    const stored = this.stateAt(row);
    if (this.numbers[row * WIDTH + MARK] !== markOf(bucket)) return this.stateOfOther(key, row, bucket, nowUs);
    const state = clamped(bucket, stored, nowUs);
    if (state !== stored) this.put(key, row, bucket, state, nowUs);
    return state;
  }

  /** The state of a bucket that was written under other numbers, or that is blocked or lent: see `stateOf`. */
  private stateOfOther(key: string, row: number, bucket: Bucket, nowUs: number): BucketState | undefined {
    const stored = this.stateAt(row);
    const leases = this.leasesOf(row);
    const state = stateOfStored(bucket, { state: stored, generation: this.buckets[row]!.generation, leases }, nowUs);
    if (state === undefined) return undefined;
    const running = runningAt(leases, nowUs);
    if (running !== leases) this.keepLeases(row, running);
    if (state !== stored || running !== leases) this.put(key, row, bucket, state, nowUs);
    return state;
  }

  private leasesOf(row: number | undefined): Leases {
    return (row === undefined ? undefined : this.leases.get(row)) ?? NO_LEASES;
  }

  private keepLeases(row: number, leases: Leases): void {
    if (leases.length > 0) this.leases.set(row, leases);
    else this.leases.delete(row);
  }

  private stateAt(row: number): BucketState {
    const first = row * WIDTH;
    const { numbers } = this;
    return numbers[first + MARK]! > 0 ? { whole: numbers[first]!, part: numbers[first + 1]! } : this.others[row]!;
  }

  private put(key: string, present: number | undefined, bucket: Bucket, state: BucketState, nowUs: number): void {
    const row = present ?? this.newRow(key, nowUs);
    const first = row * WIDTH;
    const { numbers } = this;
    const mark = markOf(bucket);
    if (present === undefined || numbers[first + MARK] !== mark) {
      this.buckets[row] = bucket;
      if (this.leases.has(row) || this.blockAt(row, nowUs) !== undefined) {
        this.others[row] = state;
        return;
      }
      // Of a block that is over, a bucket that is written keeps nothing.
      this.blocks.delete(row);
      numbers[first + MARK] = mark;
    }
    if (bucket.kind === 'greedy') {
      const { whole, part } = state as GreedyState;
      numbers[first] = whole;
      numbers[first + 1] = part;
    } else {
      this.others[row] = state;
    }
  }

  /** Keeps what an operation, or a word about a lease, has made of a bucket. */
  private keep(key: string, bucket: Bucket, { state, block, leases }: LeasedBucket, nowUs: number): void {
    const row = this.rows.get(key) ?? this.newRow(key, nowUs);
    this.keepLeases(row, leases);
    if (block === undefined) this.blocks.delete(row);
    else this.blocks.set(row, block);
    this.numbers[row * WIDTH + MARK] = NO_MARK;
    this.put(key, row, bucket, state, nowUs);
  }

  /** The block of a bucket, unless it is over; kept if the clock stepped back. */
  private blockAt(row: number, nowUs: number): Block | undefined {
    const stored = this.blocks.get(row);
    if (stored === undefined) return undefined;
    const block = clampedBlock(stored, nowUs);
    if (block !== stored) this.blocks.set(row, block);
    return block.untilUs > nowUs ? block : undefined;
  }

  private newRow(key: string, nowUs: number): number {
    if (this.rows.size >= this.maxBuckets) this.makeRoom(nowUs);
    const row = this.freeRows.pop() ?? this.rows.size;
    if ((row + 1) * WIDTH > this.numbers.length) {
      const larger = new Float64Array(2 * this.numbers.length);
      larger.set(this.numbers);
      this.numbers = larger;
    }
    this.rows.set(key, row);
    return row;
  }

  /** Looks at a bounded number of the oldest entries, so that a flood of new keys costs each of them little. */
  private makeRoom(nowUs: number): void {
    let looked = 0;
    let oldest: string | undefined;
    for (const [key, row] of this.rows) {
      const bucket = this.buckets[row]!;
      const isHeld = this.blockAt(row, nowUs) !== undefined || runningAt(this.leasesOf(row), nowUs).length > 0;
      if (!isHeld) oldest ??= key;
      if (!isHeld && isFull(bucket, this.stateAt(row), nowUs)) {
        this.drop(key);
        return;
      }
      if (++looked === 64) break;
    }
    // If all of them are blocked or lent, the block or the leases of the one that was created first end early.
    oldest ??= this.rows.keys().next().value;
    if (oldest !== undefined) this.drop(oldest);
  }

  private drop(key: string): void {
    const row = this.rows.get(key)!;
    this.freeRows.push(row);
    this.blocks.delete(row);
    this.leases.delete(row);
    this.rows.delete(key);
  }
}

const FIRST_ROWS = 1024;
/** Four numbers are half of a cache line: one visit. */
const WIDTH = 4;
const MARK = 2;
const NO_MARK = 0;

/** Tells generations apart, and greedy buckets, whose mark is positive, from others. */
function markOf({ kind, generation }: Bucket): number {
  return kind === 'greedy' ? generation + 1 : -generation - 1;
}

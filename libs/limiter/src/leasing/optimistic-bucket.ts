import { adjusted, clamped, levelFor, startState, type Bucket, type BucketLevel, type BucketState } from '../buckets/bucket.js';
import { isBlocked, type BlockedLevel } from '../buckets/block.js';
import type { Lent } from '../buckets/lend.js';
import { knownState } from './known-state.js';
import type { KeptTake } from '../buckets/take.js';
import type { LocalBucket, SpentMark } from './local-bucket.js';

/**
 * What one process knows of a bucket about which it decides by itself, and what it has spent there that the store has not taken yet. Pure: time comes in,
 * by the clock of the store as far as it is known here. A bucket of which nothing was heard is as a store would find it that does not have it.
 *
 * What was spent is owed until the store has taken it, also where the store had less: so all processes together have spent at most what each spends
 * before it hears of the others, and not that again and again.
 */
export class OptimisticBucket implements LocalBucket {
  used = false;
  readonly bytes: number;
  /** Tokens spent here that the store has not taken. */
  owed = 0;
  /** Of them, what the store has been told of and did not have. */
  overdrawn = 0;
  /** Whether a report is on its way. */
  underWay = false;
  mark: SpentMark = { by: this };
  keptBy: KeptTake | undefined = undefined;
  private state: BucketState | undefined;
  /** Of which the store was told last. */
  private told: Bucket;
  private blockedUntilUs = -Infinity;
  private tellAgainAtMs = -Infinity;
  private silentUntilMs = -Infinity;

  constructor(
    readonly key: string,
    public bucket: Bucket,
  ) {
    this.bytes = BYTES_OF_OPTIMISTIC + key.length;
    this.told = bucket;
  }

  /** Under other numbers nothing is known of the bucket; what is owed stays owed. */
  edited(bucket: Bucket): void {
    this.bucket = bucket;
    this.state = undefined;
    this.blockedUntilUs = -Infinity;
  }

  levelFor(cost: number, nowUs: number): BucketLevel {
    const { bucket, owed } = this;
    if (nowUs < this.blockedUntilUs) return { blockedForUs: this.blockedUntilUs - nowUs };
    const state = this.state === undefined ? startState(bucket, nowUs) : clamped(bucket, this.state, nowUs);
    const left = owed > 0 ? adjusted(bucket, state, -owed, nowUs) : state;
    return levelFor(bucket, left, nowUs, cost);
  }

  spend(cost: number): void {
    this.owed += cost;
  }

  putBack(mark: SpentMark, cost: number): boolean {
    if (this.mark !== mark) return false;
    this.owed -= cost;
    return true;
  }

  /** What to tell the store now; 0 if there is nothing to be told, or it would not help yet. */
  toTell(nowMs: number): number {
    if (this.underWay || nowMs < this.silentUntilMs) return 0;
    // What the store did not have a moment ago it need not be asked for again at once.
    return this.owed > this.overdrawn || nowMs >= this.tellAgainAtMs ? this.owed : 0;
  }

  /** The take by which the store can be told of so much; undefined if that needs a report. */
  takeOf(tokens: number): KeptTake | undefined {
    const take = this.keptBy;
    return this.overdrawn === 0 && take?.cost === tokens && take.bucket.generation === this.bucket.generation ? take : undefined;
  }

  sent(): void {
    this.underWay = true;
    this.told = this.bucket;
    this.mark = { by: this };
  }

  /** @returns tokens of those told that the store did not have, and that it was not told of before */
  heard({ charged, level }: Lent, atUs: number, told: number, nowMs: number): number {
    this.underWay = false;
    this.found(level, atUs, 0);
    const left = told - charged;
    const newly = Math.max(0, left - this.overdrawn);
    this.owed -= charged;
    this.overdrawn = left;
    if (left > 0) this.tellAgainAtMs = nowMs + PAUSE_MS;
    return newly;
  }

  /** The store has taken what was spent, and had found this before. */
  taken(level: BucketLevel, atUs: number, cost: number): void {
    this.underWay = false;
    this.found(level, atUs, cost);
    this.owed -= cost;
  }

  /** The store did not have what was spent, and is told once more, by a report. @param atUs 0 if only a memory of the store has said so */
  refused(level: BucketLevel, atUs: number): void {
    if (atUs > 0) this.found(level, atUs, 0);
  }

  /** What the store says of numbers that an edit has replaced meanwhile says nothing of these. */
  private found(level: BucketLevel, atUs: number, taken: number): void {
    const { bucket } = this;
    if (this.told !== bucket) return;
    const state = knownState(bucket, level, atUs);
    this.state = taken === 0 ? state : adjusted(bucket, state, -taken, atUs);
    this.blockedUntilUs = isBlocked(level) ? atUs + (level as BlockedLevel).blockedForUs : -Infinity;
  }

  /** There is no answer: it is told again, and perhaps charged twice. */
  failed(nowMs: number): void {
    this.underWay = false;
    this.silentUntilMs = nowMs + PAUSE_MS;
  }
}

/** A store that did not have what was spent, or does not answer, is told again after this time. */
const PAUSE_MS = 100;

/** Besides its key, as of a lease. */
const BYTES_OF_OPTIMISTIC = 400;

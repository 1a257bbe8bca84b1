import { isBlocked } from '../buckets/block.js';
import { adjusted, levelFor, type Bucket, type BucketLevel, type BucketState } from '../buckets/bucket.js';
import { MOST_LENT_SHARE } from '../buckets/lease.js';
import type { Lent } from '../buckets/lend.js';
import { knownState } from './known-state.js';
import type { KeptTake } from '../buckets/take.js';
import type { LocalBucket, Moment, SpentMark } from './local-bucket.js';

/** A bucket from which fewer tokens are spent here in a horizon is not worth a lease: a take that is gathered with others costs less. */
export const LEAST_DEMAND = 4;
/** What is asked for is this many times what was spent in the last horizon: more while it is all spent early, less while others hold it. */
const MOST_AHEAD = 2;
const LEAST_AHEAD = 1 / 8;
/** When only this part of it is left, a lease is filled up: what is left then lasts until the answer is there. */
const LOW_PART = 1 / 4;
/** When so much of its time is over, a lease is renewed, or goes back if nothing is spent from it. */
const DUE_PART = 0.7;
/** A store that has not granted what was wanted is not asked again before so much of a horizon is over. */
const PAUSE_PART = 1 / 16;

/**
 * What one process may spend of one bucket without asking, and how much is spent there. Pure: time comes in, and what is to be told to the store goes
 * out. A lease ends by the clock of the store counted from when the store was asked, so here it ends earlier: it counts from when that was sent.
 */
export class HeldLease implements LocalBucket {
  used = false;
  readonly bytes: number;
  /** Tokens that may be spent. */
  held = 0;
  /** Whether a report is on its way. */
  underWay = false;
  /** Requests that the store has refused while it was lending to this process: they are looked at again when the answer is there. */
  private waiting: (() => void)[] | undefined = undefined;
  keptBy: KeptTake | undefined = undefined;
  /** Tokens that others held of the bucket, as the store has said. */
  lentElsewhere = 0;
  /** By the clock of the store, in microseconds. */
  heardAtUs = 0;
  /** It is no longer in use; what comes yet goes back. */
  dropped = false;
  mark: SpentMark = { by: this };
  /** What the store had left when it was heard of. */
  private left: BucketState | undefined = undefined;
  /** When it is to be renewed. Milliseconds of the clock that is never set, as all that follow but one. */
  private dueAtMs = -Infinity;
  private endsAtMs = -Infinity;
  private endsAtWallMs = -Infinity;
  private askAgainAtMs = -Infinity;
  /** What was held when the store was asked last. */
  private reported = 0;
  /** What was held after its last answer. */
  private filled = 0;
  private ahead = 1;
  private demandSinceMs = -Infinity;
  private countedAtMs = -Infinity;
  private demandNow = 0;
  private demandBefore = 0;

  constructor(
    readonly key: string,
    readonly bucket: Bucket,
    /** Milliseconds. */
    private readonly horizonMs: number,
  ) {
    this.bytes = BYTES_OF_LEASE + key.length;
  }

  /** Ends the lease if its time is over. @returns the tokens with which it ended unspent */
  expire(at: Moment): number {
    return this.held > 0 && this.isOver(at) ? this.voided() : 0;
  }

  private isOver({ nowMs, wallMs }: Moment): boolean {
    return nowMs >= this.endsAtMs || wallMs >= this.endsAtWallMs;
  }

  /** Nothing that is held may be spent any more. @returns how much that was */
  voided(): number {
    const { held } = this;
    this.held = 0;
    this.filled = 0;
    this.mark = { by: this };
    return held;
  }

  /** What a request finds that can be paid from here: what is held, beside what the store has said is left, and never more than that. */
  levelFor(cost: number): BucketLevel {
    const { bucket, heardAtUs } = this;
    // Nothing of it is kept: an object that each request puts into an old one costs more at the next collection of garbage than to make it.
    return levelFor(bucket, adjusted(bucket, this.left!, this.held, heardAtUs), heardAtUs, cost);
  }

  /**
   * Whether a request that the store has refused may be paid from here after all: the store has lent, before it looked at the request, what is there
   * now, or is about to come.
   */
  mayPay(cost: number): 'now' | 'soon' | undefined {
    if (this.held >= cost) return 'now';
    return this.underWay && !this.dropped && (this.waiting?.length ?? 0) < MOST_WAITING ? 'soon' : undefined;
  }

  /** @param again looks at a request again, once the answer that is awaited is there */
  waits(again: () => void): void {
    (this.waiting ??= []).push(again);
  }

  /** @returns what is to be called now */
  takeWaiting(): readonly (() => void)[] {
    const { waiting = NOBODY } = this;
    this.waiting = undefined;
    return waiting;
  }

  /** Takes tokens out: they are spent, or are to go back to the store. */
  spend(tokens: number): void {
    this.held -= tokens;
  }

  /** A request did not need what it has spent. False: the store has been told meanwhile that it is spent, so only the store can give it back. */
  putBack(mark: SpentMark, cost: number, at: Moment): boolean {
    if (this.mark !== mark || this.dropped || this.isOver(at)) return false;
    this.held += cost;
    return true;
  }

  /** Tokens of this bucket were spent, from whatever source. */
  count(cost: number, nowMs: number): void {
    this.turn(nowMs);
    this.demandNow += cost;
    this.countedAtMs = nowMs;
  }

  /** Tokens that are spent in a horizon, by what was spent lately. */
  demand(nowMs: number): number {
    this.turn(nowMs);
    return Math.max(this.demandNow, this.demandBefore);
  }

  /** How many tokens to ask for now; undefined if there is no reason to ask. 0 renews what is held. */
  wants(nowMs: number): number | undefined {
    if (this.underWay) return undefined;
    // First what nearly every request meets: that is all it reads of the lease here.
    const isLow = this.held <= this.filled * LOW_PART;
    if (!isLow && !this.isDue(nowMs)) return undefined;
    if (nowMs < this.askAgainAtMs || this.isIdle(nowMs)) return undefined;
    const demand = this.demand(nowMs);
    if (demand < LEAST_DEMAND) return undefined;
    if (isLow && this.filled > 0) this.ahead = Math.min(MOST_AHEAD, this.ahead * 1.25);
    else if (!isLow) this.ahead = Math.max(LEAST_AHEAD, this.ahead * 0.9);
    const wanted = Math.max(0, this.target(demand) - this.held);
    return wanted === 0 && this.held === 0 ? undefined : wanted;
  }

  /** What is held beyond what is spent in a horizon; all of it, if nothing has been spent for half of one, or too little to be worth a lease. */
  excess(nowMs: number): number {
    const demand = this.demand(nowMs);
    return this.isIdle(nowMs) || demand < LEAST_DEMAND ? this.held : Math.max(0, this.held - this.target(demand));
  }

  /** Whether its time is nearly over. */
  isDue(nowMs: number): boolean {
    return nowMs >= this.dueAtMs;
  }

  private isIdle(nowMs: number): boolean {
    return nowMs >= this.countedAtMs + this.horizonMs / 2;
  }

  /** The store is asked: what is spent from now on is not in this report. */
  sent(nowMs: number): void {
    this.underWay = true;
    this.dueAtMs = nowMs + this.horizonMs * DUE_PART;
    this.reported = this.held;
    this.mark = { by: this };
  }

  /**
   * What the store has answered.
   *
   * @param sent when it was asked
   * @param wanted what it was asked for
   * @returns tokens that have ended unspent, because the answer came late
   */
  granted({ kept, granted, forUs, level, lentElsewhere }: Lent, atUs: number, sent: Moment, wanted: number, at: Moment): number {
    this.underWay = false;
    // What was held ended when it was to end, whatever the store has made of it since.
    let lapsed = this.expire(at);
    lapsed += this.keep(this.held - (this.reported - kept));
    this.held += granted;
    if (forUs > 0) {
      this.endsAtMs = sent.nowMs + forUs / 1000;
      this.endsAtWallMs = sent.wallMs + forUs / 1000;
    }
    lapsed += isBlocked(level) ? this.voided() : this.expire(at);
    this.filled = this.held;
    this.left = knownState(this.bucket, level, atUs);
    this.heardAtUs = atUs;
    this.lentElsewhere = lentElsewhere;
    if (granted < wanted) {
      this.ahead = Math.max(LEAST_AHEAD, this.ahead / 2);
      this.pause(at.nowMs);
    }
    return lapsed;
  }

  /** Of what is held only so much is lent as far as the store knows: it has ended there, or the store has lost it. @returns what is void */
  private keep(tokens: number): number {
    const voided = this.held - Math.min(this.held, Math.max(0, tokens));
    this.held -= voided;
    return voided;
  }

  /** The store has let a request pass beside the lease, and found this before. What it answers last it has done last. */
  passedBeside(level: BucketLevel, atUs: number, cost: number): void {
    if (this.left === undefined) return;
    this.left = adjusted(this.bucket, knownState(this.bucket, level, atUs), -cost, atUs);
    this.heardAtUs = atUs;
  }

  /** There is no answer, or one that grants nothing. */
  failed(nowMs: number): void {
    this.underWay = false;
    this.pause(nowMs);
    // What is held still ends when it was to end, so it is to be renewed soon.
    this.dueAtMs = this.askAgainAtMs;
  }

  private pause(nowMs: number): void {
    this.askAgainAtMs = nowMs + this.horizonMs * PAUSE_PART;
  }

  private target(demand: number): number {
    return Math.min(Math.floor(this.bucket.capacity * MOST_LENT_SHARE), Math.ceil(demand * this.ahead));
  }

  private turn(nowMs: number): void {
    const age = nowMs - this.demandSinceMs;
    if (age < this.horizonMs) return;
    this.demandBefore = age < 2 * this.horizonMs ? this.demandNow : 0;
    this.demandNow = 0;
    this.demandSinceMs = nowMs;
  }
}

/** Requests that wait for one answer. Each would be refused otherwise. */
const MOST_WAITING = 1000;
const NOBODY: readonly (() => void)[] = [];

/** Of a lease besides its key: the object, its numbers, a state, its place in the table. Measured, and rounded up. */
const BYTES_OF_LEASE = 500;

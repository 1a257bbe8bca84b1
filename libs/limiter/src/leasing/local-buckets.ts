import type { BucketLender, LendOutcome, LendRequest } from '../lend.js';
import { NewerRulesError, StoreUnavailableError, type Clock } from '../ports.js';
import { SieveCache } from '../sieve-cache.js';
import type { BucketLevel } from '../bucket.js';
import type { BucketTake } from '../take.js';
import { HeldLease } from './held-lease.js';
import { LeaseCounts } from './lease-counts.js';
import type { LocalBucket, Moment } from './local-bucket.js';
import { OptimisticBucket } from './optimistic-bucket.js';

export interface LeasingOptions {
  /** Names this process among all that lease from the store: from 1 to 2^32 - 1. */
  readonly lessee: number;
  /** A lease ends so long after it was asked for. Milliseconds. */
  readonly horizonMs: number;
  /** Milliseconds of a clock that is never set. */
  readonly now: Clock;
  /** Milliseconds since 1970, by the clock of this machine. */
  readonly wall: Clock;
  /** By how much the clock of the store is ahead of that. Milliseconds. */
  readonly storeAheadMs: () => number;
  /** For what is known of buckets. */
  readonly maxBytes?: number;
}

const DEFAULT_BYTES = 16 * 2 ** 20;
/** A store that has not answered a report is not relied on for so long: who decides without it asks it again. Milliseconds. */
const AWAY_MS = 100;
/** So many buckets may wait until the store is told of what was spent, at most. */
const MOST_UNTOLD = 10_000;

/** What a process has of buckets about which it decides by itself, and what it tells the store of them. It has no timers: `tick` is to be called every few milliseconds. */
export class LocalBuckets {
  readonly counts = new LeaseCounts();
  private readonly table: SieveCache<HeldLease | OptimisticBucket>;
  /** Leases with tokens, in the order in which they were asked for: the first ends first. */
  private readonly live = new Set<HeldLease>();
  /** Buckets of which the store does not know yet what was spent. */
  private readonly untold = new Set<OptimisticBucket>();
  /** One for all buckets, so that a lease that is made anew goes on where the one before ended. */
  private sequence = 0;
  private awayUntilMs = -Infinity;
  private closed = false;
  /** Reports that are on their way. */
  private reports = 0;
  private whenTold: (() => void) | undefined;

  constructor(
    private readonly lender: BucketLender,
    private readonly options: LeasingOptions,
  ) {
    this.table = new SieveCache(options.maxBytes ?? DEFAULT_BYTES, (evicted) => this.evicted(evicted));
  }

  get isClosed(): boolean {
    return this.closed;
  }

  /** Tokens that are held now. */
  get held(): number {
    return sum(this.live, ({ held }) => held);
  }

  /** Tokens that were spent and that the store has not taken. */
  get owed(): number {
    return sum(this.untold, ({ owed }) => owed);
  }

  /** What is known of buckets takes so much memory, by estimate. */
  get bytes(): number {
    return this.table.bytes;
  }

  moment(): Moment {
    return { nowMs: this.options.now(), wallMs: this.options.wall() };
  }

  storeNowUs({ wallMs }: Moment): number {
    return Math.round((wallMs + this.options.storeAheadMs()) * 1000);
  }

  /** Whether requests may be decided about before the store is told of them. */
  mayOwe({ nowMs }: Moment): boolean {
    return nowMs >= this.awayUntilMs && this.untold.size < MOST_UNTOLD;
  }

  /** Undefined for a request that does not know of the last edit. */
  of({ key, bucket }: BucketTake): HeldLease | OptimisticBucket | undefined {
    const known = this.table.get(key);
    const isOptimistic = bucket.lending === 'optimistic';
    if (known !== undefined && known instanceof OptimisticBucket === isOptimistic) {
      if (known.bucket.generation === bucket.generation) return known;
      if (known.bucket.generation > bucket.generation) return undefined;
      if (known instanceof OptimisticBucket) {
        known.edited(bucket);
        return known;
      }
    }
    if (known !== undefined) this.replaced(known);
    const local = isOptimistic ? new OptimisticBucket(key, bucket) : new HeldLease(key, bucket, this.options.horizonMs);
    this.table.set(key, local);
    return local;
  }

  /** The lease of a bucket, if it has one. */
  leaseOf(key: string): HeldLease | undefined {
    const known = this.table.peek(key);
    return known instanceof HeldLease ? known : undefined;
  }

  /** Ends a lease if its time is over. */
  expire(lease: HeldLease, at: Moment): void {
    this.counts.lapsed += lease.expire(at);
  }

  /** @param level that the request has found */
  spend(local: HeldLease | OptimisticBucket, level: BucketLevel, cost: number, at: Moment): void {
    local.spend(cost, level);
    if (local instanceof OptimisticBucket) {
      this.untold.add(local);
    } else {
      this.counts.spent += cost;
      this.count(local, cost, at);
    }
  }

  /** So much of a bucket was spent, here or at the store: perhaps it is worth a lease, or one that is larger. */
  count(lease: HeldLease, cost: number, at: Moment): void {
    lease.count(cost, at.nowMs);
    if (this.closed || lease.dropped) return;
    const wanted = lease.wants(at.nowMs);
    if (wanted !== undefined) this.report(lease, at, wanted, 0);
  }

  /** Tokens that were spent for a request have been put back. */
  hasBack(local: LocalBucket, cost: number): void {
    if (!(local instanceof HeldLease)) return;
    this.counts.putBack += cost;
    this.live.add(local);
  }

  tick(): void {
    const at = this.moment();
    for (const lease of this.live) {
      this.expire(lease, at);
      if (lease.held === 0) this.live.delete(lease);
      else if (!lease.isDue(at.nowMs)) break;
      else if (!lease.underWay) this.report(lease, at, 0, lease.excess(at.nowMs));
    }
    for (const bucket of this.untold) this.tell(bucket, at);
  }

  close(): Promise<void> {
    this.closed = true;
    const at = this.moment();
    for (const lease of this.live) this.giveUp(lease, at);
    for (const bucket of this.untold) this.tell(bucket, at);
    return new Promise((resolve) => {
      if (this.reports === 0) resolve();
      else this.whenTold = resolve;
    });
  }

  private report(lease: HeldLease, at: Moment, wants: number, givesBack: number): void {
    if (givesBack > 0) lease.giveBack(givesBack);
    this.counts.givenBack += givesBack;
    lease.sent(at.nowMs);
    // The one that was asked for last ends last.
    this.live.delete(lease);
    if (!lease.dropped) this.live.add(lease);
    this.lend(lease, { holds: lease.held, givesBack, overspent: 0, wants }, (outcome, atUs) => {
      const now = this.moment();
      if (outcome instanceof Error) {
        lease.failed(now.nowMs);
        if (outcome instanceof NewerRulesError) this.counts.lapsed += lease.voided();
      } else {
        this.counts.lent += outcome.granted;
        this.counts.lapsed += lease.granted(outcome, atUs, at, wants, now);
      }
      if (lease.dropped) this.giveUp(lease, now);
      else if (lease.held === 0) this.live.delete(lease);
      // It may have been empty meanwhile.
      else this.live.add(lease);
      for (const waiting of lease.waiting.splice(0)) waiting();
    });
  }

  private tell(bucket: OptimisticBucket, at: Moment): void {
    if (bucket.owed === 0 && !bucket.underWay) this.untold.delete(bucket);
    const overspent = bucket.toTell(at.nowMs);
    if (overspent === 0) return;
    bucket.sent();
    this.lend(bucket, { holds: 0, givesBack: 0, overspent, wants: 0 }, (outcome, atUs) => {
      const { nowMs } = this.moment();
      if (outcome instanceof Error) {
        bucket.failed(nowMs);
        if (outcome instanceof StoreUnavailableError) this.awayUntilMs = nowMs + AWAY_MS;
      } else {
        this.counts.overdrawn += bucket.heard(outcome, atUs, overspent, nowMs);
        this.awayUntilMs = -Infinity;
      }
    });
  }

  private lend(
    { key, bucket }: LocalBucket,
    words: Pick<LendRequest, 'holds' | 'givesBack' | 'overspent' | 'wants'>,
    answer: (outcome: LendOutcome, atUs: number) => void,
  ): void {
    const { lessee, horizonMs } = this.options;
    this.reports++;
    this.counts.reports++;
    const request = { key, bucket, lessee, sequence: ++this.sequence, forUs: horizonMs * 1000, ...words };
    this.lender.lend(request, (outcome, atUs) => {
      answer(outcome, atUs);
      if (--this.reports === 0) this.whenTold?.();
    });
  }

  /** Its place in the table is needed for another one. What is owed is told all the same. */
  private evicted(local: HeldLease | OptimisticBucket): void {
    if (local instanceof HeldLease) this.giveUp(local, this.moment());
  }

  /** What it holds goes back, unless another lease of the bucket stands in its place: to the store, both are the same one, and that one speaks for it. */
  private giveUp(lease: HeldLease, at: Moment): void {
    lease.dropped = true;
    this.live.delete(lease);
    this.expire(lease, at);
    if (lease.held === 0 || lease.underWay) return;
    const present = this.table.peek(lease.key);
    if (present === undefined || present === lease) this.report(lease, at, 0, lease.held);
    else this.counts.lapsed += lease.voided();
  }

  /** It was made for other numbers, or another consistency, than hold now: what it holds is void, and what it owes is told once more. */
  private replaced(local: HeldLease | OptimisticBucket): void {
    if (local instanceof HeldLease) {
      this.counts.lapsed += local.voided();
      local.dropped = true;
      this.live.delete(local);
    } else {
      this.tell(local, this.moment());
      this.untold.delete(local);
    }
  }
}

function sum<T>(all: Iterable<T>, of: (each: T) => number): number {
  let total = 0;
  for (const each of all) total += of(each);
  return total;
}

import type { BucketLender, LendOutcome, LendRequest } from '../buckets/lend.js';
import { NewerRulesError, StoreUnavailableError, type Clock } from '../stores/ports.js';
import type { BucketLevel } from '../buckets/bucket.js';
import { KeptTake, type BucketTake } from '../buckets/take.js';
import { BucketTable } from './bucket-table.js';
import { TokenSketch } from './token-sketch.js';
import { HeldLease, LEAST_DEMAND } from './held-lease.js';
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

/** For some 130,000 buckets. */
const DEFAULT_BYTES = 64 * 2 ** 20;
/** A store that has not answered a report is not relied on for so long: who decides without it asks it again. Milliseconds. */
const AWAY_MS = 100;
/** So many buckets may wait until the store is told of what was spent, at most. */
const MOST_UNTOLD = 10_000;
/** Reports that are on their way at once, at most, of those that no request has brought about: the others wait for the next tick. */
const MOST_REPORTS = 1000;

/** What a process has of buckets about which it decides by itself, and what it tells the store of them. It has no timers: `tick` is to be called every few milliseconds. */
export class LocalBuckets {
  readonly counts = new LeaseCounts();
  private readonly table: BucketTable<HeldLease | OptimisticBucket>;
  private readonly sketch: TokenSketch;
  /** Leases with tokens, in the order in which they were asked for: the first ends first. */
  private readonly live = new Set<HeldLease>();
  /** Buckets of which the store does not know yet what was spent. */
  private readonly untold = new Set<OptimisticBucket>();
  /** One for all buckets, so that a lease that is made anew goes on where the one before ended. */
  private sequence = 0;
  private awayUntilMs = -Infinity;
  private closed = false;
  private isGivingBack = false;
  /** Reports that are on their way. */
  private reports = 0;
  private whenTold: (() => void) | undefined;

  constructor(
    private readonly lender: BucketLender,
    private readonly options: LeasingOptions,
  ) {
    const { maxBytes = DEFAULT_BYTES, horizonMs } = options;
    this.table = new BucketTable(maxBytes, (evicted) => this.evicted(evicted));
    this.sketch = new TokenSketch(maxBytes, horizonMs);
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

  /** What decides about a take; undefined if the store does, as about each request that does not know of the last edit. */
  of(take: BucketTake): HeldLease | OptimisticBucket | undefined {
    const kept = take.local as HeldLease | OptimisticBucket | undefined;
    if (kept === undefined || kept.bucket.generation !== take.bucket.generation) return this.found(take);
    if (!kept.used) kept.used = true;
    return kept;
  }

  private found(take: BucketTake): HeldLease | OptimisticBucket | undefined {
    const { key, bucket } = take;
    const known = this.table.get(key);
    const isOptimistic = bucket.lending === 'optimistic';
    if (known === undefined) return isOptimistic ? this.add(take) : undefined;
    if (known instanceof OptimisticBucket === isOptimistic) {
      if (known.bucket.generation > bucket.generation) return undefined;
      const isSame = known.bucket.generation === bucket.generation;
      if (!isSame && known instanceof OptimisticBucket) known.edited(bucket);
      if (isSame || isOptimistic) return keep(take, known);
    }
    this.replaced(known);
    return this.add(take);
  }

  /** Undefined if its merchant has as many as it may. */
  private add(take: BucketTake): HeldLease | OptimisticBucket | undefined {
    const { key, bucket } = take;
    const local = bucket.lending === 'optimistic' ? new OptimisticBucket(key, bucket) : new HeldLease(key, bucket, this.options.horizonMs);
    return this.table.set(key, local) ? keep(take, local) : undefined;
  }

  /** The lease of a bucket, if it has one. */
  leaseOf(key: string): HeldLease | undefined {
    const known = this.table.peek(key);
    return known instanceof HeldLease ? known : undefined;
  }

  /** Whether others hold tokens of a bucket, as far as this process has heard. */
  isLentElsewhere(key: string): boolean {
    return (this.leaseOf(key)?.lentElsewhere ?? 0) > 0;
  }

  /** Ends a lease if its time is over. */
  expire(lease: HeldLease, at: Moment): void {
    this.counts.lapsed += lease.expire(at);
  }

  spend(local: HeldLease | OptimisticBucket, cost: number, at: Moment): void {
    local.spend(cost);
    if (local instanceof OptimisticBucket) {
      this.untold.add(local);
    } else {
      this.counts.spent += cost;
      this.count(local, cost, at);
    }
  }

  /**
   * A take of a leased rule has passed at the store. A bucket of which that was heard often enough lately gets a lease.
   *
   * @param level that the store has found. @param atUs when, by its clock
   */
  taken(take: BucketTake, level: BucketLevel, atUs: number, at: Moment): void {
    const { key, bucket, cost } = take;
    if (cost === 0) return;
    const lease = this.leaseOf(key);
    if (lease !== undefined) {
      if (lease.bucket.generation === bucket.generation) lease.passedBeside(level, atUs, cost);
      this.count(lease, cost, at);
    } else if (!this.closed) {
      const tokens = this.sketch.count(key, cost, at.nowMs);
      const added = tokens < LEAST_DEMAND ? undefined : this.add(take);
      if (added instanceof HeldLease) this.count(added, tokens, at);
    }
  }

  /** So much of a bucket was spent, here or at the store: perhaps it is worth a lease that is larger. */
  private count(lease: HeldLease, cost: number, at: Moment): void {
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
      if (this.reports >= MOST_REPORTS) break;
      this.expire(lease, at);
      if (lease.held === 0) this.live.delete(lease);
      else if (!lease.isDue(at.nowMs)) break;
      else if (!lease.underWay) this.renew(lease, at);
    }
    for (const bucket of this.untold) this.tell(bucket, at);
  }

  close(): Promise<void> {
    this.closed = true;
    for (const bucket of this.untold) this.tell(bucket, this.moment());
    this.giveAllBack();
    return new Promise((resolve) => {
      if (this.reports === 0) resolve();
      else this.whenTold = resolve;
    });
  }

  /** As many at once as may be on their way; the others with each answer. */
  private giveAllBack(): void {
    if (this.isGivingBack) return;
    this.isGivingBack = true;
    const at = this.moment();
    for (const lease of this.live) {
      if (this.reports >= MOST_REPORTS) break;
      this.giveUp(lease, at);
    }
    this.isGivingBack = false;
  }

  /** Before a request has to wait for it; or gives back what nobody spends. */
  private renew(lease: HeldLease, at: Moment): void {
    const wants = lease.wants(at.nowMs) ?? 0;
    this.report(lease, at, wants, wants > 0 ? 0 : lease.excess(at.nowMs));
  }

  private report(lease: HeldLease, at: Moment, wants: number, givesBack: number): void {
    lease.spend(givesBack);
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
      for (const waiting of lease.takeWaiting()) waiting();
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
      this.reports--;
      if (!this.closed) return;
      // From a store that is away nobody waits for more: what is held ends by itself.
      if (outcome instanceof StoreUnavailableError) this.live.clear();
      else this.giveAllBack();
      if (this.reports === 0) this.whenTold?.();
    });
  }

  /** Its place in the table is needed for another one. What is owed is told all the same. */
  private evicted(local: HeldLease | OptimisticBucket): void {
    forget(local);
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
    forget(local);
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

/** The next request that asks the same take finds it there. */
function keep<L extends HeldLease | OptimisticBucket>(take: BucketTake, local: L): L {
  if (!(take instanceof KeptTake)) return local;
  forget(local);
  take.local = local;
  local.keptBy = take;
  return local;
}

function forget(local: LocalBucket): void {
  if (local.keptBy?.local === local) local.keptBy.local = undefined;
  local.keptBy = undefined;
}

function sum<T>(all: Iterable<T>, of: (each: T) => number): number {
  let total = 0;
  for (const each of all) total += of(each);
  return total;
}

import type { BucketLevel } from '../buckets/bucket.js';
import type { BucketLender } from '../buckets/lend.js';
import { KeptTake, type BucketTake } from '../buckets/take.js';
import { StoreUnavailableError, type BucketStore, type Clock } from '../stores/ports.js';
import { BucketTable } from './bucket-table.js';
import { HeldLease, LEAST_DEMAND } from './held-lease.js';
import { LeaseCounts } from './lease-counts.js';
import { LiveLeases } from './live-leases.js';
import type { LocalBucket, Moment } from './local-bucket.js';
import { OptimisticBucket } from './optimistic-bucket.js';
import { StoreReports, type ReportingOptions } from './store-reports.js';
import { TokenSketch } from './token-sketch.js';
import { UntoldSpends } from './untold-spends.js';

export interface LeasingOptions extends ReportingOptions {
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

/**
 * What a process has of buckets about which it decides by itself: which of them it knows. What it tells the store of them is in live-leases.ts and
 * untold-spends.ts. It has no timers: `tick` is to be called every few milliseconds.
 */
export class LocalBuckets {
  readonly counts = new LeaseCounts();
  private readonly table: BucketTable<HeldLease | OptimisticBucket>;
  private readonly sketch: TokenSketch;
  private readonly reports: StoreReports;
  private readonly leases: LiveLeases;
  private readonly untold: UntoldSpends;
  private closed = false;

  constructor(
    store: BucketStore,
    lender: BucketLender,
    private readonly options: LeasingOptions,
  ) {
    const { maxBytes = DEFAULT_BYTES, horizonMs } = options;
    const moment = (): Moment => this.moment();
    this.table = new BucketTable(maxBytes, (evicted) => this.evicted(evicted));
    this.sketch = new TokenSketch(maxBytes, horizonMs);
    this.reports = new StoreReports(store, lender, this.counts, options);
    this.leases = new LiveLeases(this.reports, this.counts, { moment, present: (key) => this.table.peek(key) });
    this.untold = new UntoldSpends(this.reports, this.counts, moment);
  }

  get isClosed(): boolean {
    return this.closed;
  }

  /** Tokens that are held now. */
  get held(): number {
    return this.leases.held;
  }

  /** Tokens that were spent and that the store has not taken. */
  get owed(): number {
    return this.untold.owed;
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
  mayOwe(at: Moment): boolean {
    return this.untold.mayOwe(at);
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
    this.leases.expire(lease, at);
  }

  spend(local: HeldLease | OptimisticBucket, cost: number, at: Moment): void {
    local.spend(cost);
    if (local instanceof OptimisticBucket) {
      this.untold.add(local);
    } else {
      this.counts.spent += cost;
      this.leases.count(local, cost, at);
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
      this.leases.count(lease, cost, at);
    } else if (!this.closed) {
      const tokens = this.sketch.count(key, cost, at.nowMs);
      const added = tokens < LEAST_DEMAND ? undefined : this.add(take);
      if (added instanceof HeldLease) this.leases.count(added, tokens, at);
    }
  }

  /** Tokens that were spent for a request have been put back. */
  hasBack(local: LocalBucket, cost: number): void {
    if (local instanceof HeldLease) this.leases.hasBack(local, cost);
  }

  tick(): void {
    const at = this.moment();
    this.leases.tick(at);
    this.untold.tellAll(at);
  }

  close(): Promise<void> {
    this.closed = true;
    this.untold.tellAll(this.moment());
    this.leases.giveAllBack();
    return this.reports.drained((outcome) => {
      // From a store that is away nobody waits for more: what is held ends by itself.
      if (outcome instanceof StoreUnavailableError) this.leases.forgetAll();
      else this.leases.giveAllBack();
    });
  }

  /** Its place in the table is needed for another one. What is owed is told all the same. */
  private evicted(local: HeldLease | OptimisticBucket): void {
    forget(local);
    if (local instanceof HeldLease) this.leases.giveUp(local, this.moment());
  }

  /** It was made for other numbers, or another consistency, than hold now: what it holds is void, and what it owes is told once more. */
  private replaced(local: HeldLease | OptimisticBucket): void {
    forget(local);
    if (local instanceof HeldLease) this.leases.void(local);
    else this.untold.drop(local);
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

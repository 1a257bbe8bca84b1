import { allows } from '../buckets/bucket.js';
import { StoreUnavailableError } from '../stores/ports.js';
import type { KeptTake } from '../buckets/take.js';
import type { LeaseCounts } from './lease-counts.js';
import type { Moment } from './local-bucket.js';
import type { OptimisticBucket } from './optimistic-bucket.js';
import type { StoreReports } from './store-reports.js';

/** A store that has not answered a report is not relied on for so long: who decides without it asks it again. Milliseconds. */
const AWAY_MS = 100;
/** So many buckets may wait until the store is told of what was spent, at most. */
const MOST_UNTOLD = 10_000;

/** What a process has spent optimistically and the store has not taken yet. */
export class UntoldSpends {
  private readonly untold = new Set<OptimisticBucket>();
  private awayUntilMs = -Infinity;

  constructor(
    private readonly reports: StoreReports,
    private readonly counts: LeaseCounts,
    private readonly moment: () => Moment,
  ) {}

  /** Tokens that were spent and that the store has not taken. */
  get owed(): number {
    let total = 0;
    for (const { owed } of this.untold) total += owed;
    return total;
  }

  /** Whether requests may be decided about before the store is told of them. */
  mayOwe({ nowMs }: Moment): boolean {
    return nowMs >= this.awayUntilMs && this.untold.size < MOST_UNTOLD;
  }

  /** Something of it was spent. */
  add(bucket: OptimisticBucket): void {
    this.untold.add(bucket);
  }

  tellAll(at: Moment): void {
    for (const bucket of this.untold) this.tell(bucket, at);
  }

  /** It is no longer decided about here. What it owes is told once more. */
  drop(bucket: OptimisticBucket): void {
    this.tell(bucket, this.moment());
    this.untold.delete(bucket);
  }

  private tell(bucket: OptimisticBucket, at: Moment): void {
    if (bucket.owed === 0 && !bucket.underWay) this.untold.delete(bucket);
    const overspent = bucket.toTell(at.nowMs);
    if (overspent === 0) return;
    const take = bucket.takeOf(overspent);
    bucket.sent();
    if (take === undefined) this.report(bucket, overspent);
    else this.takeFor(bucket, take);
  }

  /** Most buckets have let one request pass since the store was told last: it takes what it would have taken for that request. */
  private takeFor(bucket: OptimisticBucket, take: KeptTake): void {
    this.reports.take(take, (outcome, atUs) => {
      if (outcome instanceof Error) this.failed(bucket, outcome);
      else if (!allows(take.bucket, outcome[0]!, take.cost)) {
        // It has been spent all the same: the store takes what it has.
        bucket.refused(outcome[0]!, atUs);
        this.report(bucket, take.cost);
      } else {
        bucket.taken(outcome[0]!, atUs, take.cost);
        this.awayUntilMs = -Infinity;
      }
    });
  }

  private report(bucket: OptimisticBucket, overspent: number): void {
    this.reports.lend(bucket, { holds: 0, givesBack: 0, overspent, wants: 0 }, (outcome, atUs) => {
      if (outcome instanceof Error) this.failed(bucket, outcome);
      else {
        this.counts.overdrawn += bucket.heard(outcome, atUs, overspent, this.moment().nowMs);
        this.awayUntilMs = -Infinity;
      }
    });
  }

  private failed(bucket: OptimisticBucket, error: Error): void {
    const { nowMs } = this.moment();
    bucket.failed(nowMs);
    if (error instanceof StoreUnavailableError) this.awayUntilMs = nowMs + AWAY_MS;
  }
}

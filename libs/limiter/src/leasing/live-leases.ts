import { NewerRulesError } from '../stores/ports.js';
import type { HeldLease } from './held-lease.js';
import type { LeaseCounts } from './lease-counts.js';
import type { Moment } from './local-bucket.js';
import type { StoreReports } from './store-reports.js';

/** Reports that are on their way at once, at most, of those that no request has brought about: the others wait for the next tick. */
const MOST_REPORTS = 1000;

export interface LiveLeasesOptions {
  readonly moment: () => Moment;
  /** The lease that speaks for a bucket. */
  readonly present: (key: string) => object | undefined;
}

/** The leases of a process that hold tokens: they are renewed, filled up, and given back. */
export class LiveLeases {
  /** In the order in which they were asked for: the first ends first. */
  private readonly live = new Set<HeldLease>();
  private closed = false;
  private isGivingBack = false;

  constructor(
    private readonly reports: StoreReports,
    private readonly counts: LeaseCounts,
    private readonly options: LiveLeasesOptions,
  ) {}

  /** Tokens that are held now. */
  get held(): number {
    let total = 0;
    for (const { held } of this.live) total += held;
    return total;
  }

  /** Ends a lease if its time is over. */
  expire(lease: HeldLease, at: Moment): void {
    this.counts.lapsed += lease.expire(at);
  }

  /** So much of a bucket was spent, here or at the store: perhaps it is worth a lease that is larger. */
  count(lease: HeldLease, cost: number, at: Moment): void {
    lease.count(cost, at.nowMs);
    if (this.closed || lease.dropped) return;
    const wanted = lease.wants(at.nowMs);
    if (wanted !== undefined) this.report(lease, at, wanted, 0);
  }

  /** Tokens that were spent for a request have been put back. */
  hasBack(lease: HeldLease, cost: number): void {
    this.counts.putBack += cost;
    this.live.add(lease);
  }

  /** Renews those whose time is nearly over, before a request has to wait for it; or gives back what nobody spends. */
  tick(at: Moment): void {
    for (const lease of this.live) {
      if (this.reports.underWay >= MOST_REPORTS) break;
      this.expire(lease, at);
      if (lease.held === 0) this.live.delete(lease);
      else if (!lease.isDue(at.nowMs)) break;
      else if (!lease.underWay) this.renew(lease, at);
    }
  }

  /** From now on nothing is asked for. As much is given back at once as may be on its way; the rest with each answer. */
  giveAllBack(): void {
    this.closed = true;
    if (this.isGivingBack) return;
    this.isGivingBack = true;
    const at = this.options.moment();
    for (const lease of this.live) {
      if (this.reports.underWay >= MOST_REPORTS) break;
      this.giveUp(lease, at);
    }
    this.isGivingBack = false;
  }

  /** None of them goes back any more. */
  forgetAll(): void {
    this.live.clear();
  }

  /** What it holds goes back, unless another lease of the bucket stands in its place: to the store, both are the same one, and that one speaks for it. */
  giveUp(lease: HeldLease, at: Moment): void {
    lease.dropped = true;
    this.live.delete(lease);
    this.expire(lease, at);
    if (lease.held === 0 || lease.underWay) return;
    const present = this.options.present(lease.key);
    if (present === undefined || present === lease) this.report(lease, at, 0, lease.held);
    else this.counts.lapsed += lease.voided();
  }

  /** It was made for other numbers, or another consistency, than hold now. */
  void(lease: HeldLease): void {
    this.counts.lapsed += lease.voided();
    lease.dropped = true;
    this.live.delete(lease);
  }

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
    this.reports.lend(lease, { holds: lease.held, givesBack, overspent: 0, wants }, (outcome, atUs) => {
      const now = this.options.moment();
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
}

import { allows, type BucketLevel } from '../buckets/bucket.js';
import type { BucketLender } from '../buckets/lend.js';
import type { BucketStore, Receipt, TakeAnswer } from '../stores/ports.js';
import { allPass, type BucketTake, type SlotHolder, type TakeRequest } from '../buckets/take.js';
import { joinedLevels } from './joined-levels.js';
import { HeldLease } from './held-lease.js';
import type { LeaseCounts } from './lease-counts.js';
import type { Moment, SpentMark } from './local-bucket.js';
import { LocalBuckets, type LeasingOptions } from './local-buckets.js';
import { OptimisticBucket } from './optimistic-bucket.js';

/**
 * A store of buckets that decides by itself about buckets whose rule says so. Of a leased rule it spends tokens that it took in advance; what it cannot
 * pay from them goes on to the store, so that only the store refuses. Of an optimistic rule it decides by what it has last heard, and tells the store
 * afterwards: see held-lease.ts and optimistic-bucket.ts.
 */
export class LeasingBucketStore implements BucketStore {
  readonly counts: LeaseCounts;
  private readonly locals: LocalBuckets;

  constructor(
    private readonly store: BucketStore,
    lender: BucketLender,
    options: LeasingOptions,
  ) {
    this.locals = new LocalBuckets(store, lender, options);
    this.counts = this.locals.counts;
  }

  /** Tokens that are held now. */
  get held(): number {
    return this.locals.held;
  }

  /** Tokens that were spent and that the store has not taken. */
  get owed(): number {
    return this.locals.owed;
  }

  /** What is known of buckets takes so much memory, by estimate. */
  get bytes(): number {
    return this.locals.bytes;
  }

  take(request: TakeRequest, answer: TakeAnswer): void {
    const { takes } = request;
    // Who may be a retry has to be looked up.
    if (request.retry !== undefined || this.locals.isClosed || !isLendable(takes)) this.store.take(request, answer);
    else this.decide(request, answer, true);
  }

  /** @param mayComeBack whether a request that is refused may be looked at once more */
  private decide(request: TakeRequest, answer: TakeAnswer, mayComeBack: boolean): void {
    const { takes } = request;
    const at = this.locals.moment();
    if (takes.length === 1 && this.decideOne(takes[0]!, at, answer)) return;
    const here = this.here(takes, at);
    const refused = takes.some(({ bucket, cost }, i) => here.levels[i] !== undefined && !allows(bucket, here.levels[i], cost));
    if (!here.levels.includes(undefined)) {
      if (!refused) this.spend(takes, here, at);
      answer(here.levels as BucketLevel[], here.atUs, sourceOf(takes), undefined, here.marks);
    } else if (refused) {
      // What the others would say only the store knows, and it knows of this one as well.
      this.store.take(request, (...found) => this.passOn(takes, found, answer));
    } else {
      this.takeRest(request, here, at, mayComeBack ? this.orAgain(request, answer) : answer);
    }
  }

  /** Most requests ask one bucket. @returns false if the store has to be asked */
  private decideOne(take: BucketTake, at: Moment, answer: TakeAnswer): boolean {
    const local = this.localOf(take, at);
    if (local === undefined) return false;
    const { bucket, cost } = take;
    const isLease = local instanceof HeldLease;
    const atUs = isLease ? local.heardAtUs : this.locals.storeNowUs(at);
    const level = local.levelFor(cost, atUs);
    // To spend may bring about a report, and with it the next mark.
    const { mark } = local;
    if (cost > 0 && allows(bucket, level, cost)) this.locals.spend(local, cost, at);
    answer([level], atUs, isLease ? 'lease' : 'optimistic', undefined, [mark]);
    return true;
  }

  /**
   * Looks at a request once more that the store has refused, if what it lacks has been lent to this process before the store looked at it: it would be refused
   * for tokens that lie here.
   */
  private orAgain(request: TakeRequest, answer: TakeAnswer): TakeAnswer {
    return (...found) => {
      const [outcome] = found;
      const waitsFor = outcome instanceof Error ? undefined : this.lent(request, outcome);
      if (waitsFor === undefined) answer(...found);
      else if (waitsFor.length === 0) this.decide(request, answer, false);
      else waitsFor[0]!.waits(() => this.decide(request, answer, false));
    };
  }

  /** The leases of which an answer is awaited that may pay what was refused; undefined if nothing does. */
  private lent({ takes }: TakeRequest, levels: readonly BucketLevel[]): readonly HeldLease[] | undefined {
    const awaited: HeldLease[] = [];
    let isRefused = false;
    for (const [i, { key, bucket, cost }] of takes.entries()) {
      if (allows(bucket, levels[i]!, cost)) continue;
      const lease = bucket.lending === 'leased' ? this.locals.leaseOf(key) : undefined;
      const pays = lease?.mayPay(cost);
      if (pays === undefined) return undefined;
      if (pays === 'soon') awaited.push(lease!);
      isRefused = true;
    }
    return isRefused ? awaited : undefined;
  }

  release(request: SlotHolder): void {
    this.store.release(request);
  }

  /** What was spent here and not told yet is put back here. */
  refund(receipt: Receipt): void {
    const { takes, levels, takenAtUs, holder, marks = [], retry } = receipt;
    const at = this.locals.moment();
    const isLeft = takes.map(({ cost }, i) => {
      const mark = marks[i] as SpentMark | undefined;
      if (mark === undefined || !mark.by.putBack(mark, cost, at)) return true;
      this.locals.hasBack(mark.by, cost);
      return false;
    });
    if (!isLeft.includes(true)) return;
    const left = <T>(list: readonly T[]): readonly T[] => list.filter((_, i) => isLeft[i]);
    this.store.refund({ takes: left(takes), levels: left(levels), takenAtUs, holder, retry });
  }

  /** Renews leases, gives back those from which nothing is spent, ends those whose time is over, and tells what was spent optimistically. */
  tick(): void {
    this.locals.tick();
  }

  /**
   * Gives everything back, and tells what was not told; from then on the store is asked for everything. Resolves when the store has answered all of
   * it. Never rejects.
   */
  close(): Promise<void> {
    return this.locals.close();
  }

  /** Who decides about a take here; undefined if the store has to be asked. */
  private localOf(take: BucketTake, at: Moment): HeldLease | OptimisticBucket | undefined {
    const { bucket, cost } = take;
    const local = bucket.lending === undefined ? undefined : this.locals.of(take);
    if (local === undefined) return undefined;
    if (local instanceof OptimisticBucket) return this.locals.mayOwe(at) ? local : undefined;
    this.locals.expire(local, at);
    return local.held >= cost && local.held > 0 ? local : undefined;
  }

  private here(takes: readonly BucketTake[], at: Moment): Here {
    const locals = takes.map((take) => this.localOf(take, at));
    const nowUs = this.locals.storeNowUs(at);
    const heardAtUs = locals.reduce((atUs, local) => (local instanceof HeldLease ? Math.min(atUs, local.heardAtUs) : atUs), Infinity);
    return {
      locals,
      levels: locals.map((local, i) => local?.levelFor(takes[i]!.cost, nowUs)),
      marks: locals.map((local) => local?.mark),
      // Never later than requests took what they took.
      atUs: heardAtUs === Infinity ? nowUs : heardAtUs,
    };
  }

  /** Spends from buckets that decide here. */
  private spend(takes: readonly BucketTake[], { locals }: Here, at: Moment): void {
    for (let i = 0; i < takes.length; i++) {
      const local = locals[i];
      const { cost } = takes[i]!;
      if (local !== undefined && cost > 0) this.locals.spend(local, cost, at);
    }
  }

  /** Asks the store for what cannot be paid here. */
  private takeRest(request: TakeRequest, here: Here, at: Moment, answer: TakeAnswer): void {
    const { takes, holder, spare } = request;
    const { levels, marks } = here;
    const rest = takes.filter((_, i) => levels[i] === undefined);
    if (rest.length === takes.length) {
      this.store.take(request, (...found) => this.passOn(takes, found, answer));
      return;
    }
    this.spend(takes, here, at);
    const asked: TakeRequest = { takes: rest, holder, spare };
    this.store.take(asked, (...found) => {
      const [outcome] = found;
      if (outcome instanceof Error || !allPass(asked, outcome)) this.unspend(takes, here);
      this.passOn(rest, found, (heard, atUs, source, state) =>
        answer(heard instanceof Error ? heard : joinedLevels(takes, levels, heard, atUs, here.atUs), atUs, source, state, marks),
      );
    });
  }

  /** A request that was spent for here has not passed. */
  private unspend(takes: readonly BucketTake[], { levels, marks, atUs }: Here): void {
    const isSpent = takes.map(({ cost }, i) => levels[i] !== undefined && cost > 0);
    const spent = <T>(list: readonly T[]): readonly T[] => list.filter((_, i) => isSpent[i]);
    this.refund({ takes: spent(takes), levels: spent(levels) as BucketLevel[], marks: spent(marks), takenAtUs: atUs, holder: 0 });
  }

  /** Notes what the store has said of buckets that could be leased, and says it. */
  private passOn(takes: readonly BucketTake[], found: Parameters<TakeAnswer>, answer: TakeAnswer): void {
    const [outcome, atUs] = found;
    if (!(outcome instanceof Error)) {
      const at = this.locals.moment();
      const passed = allPass({ takes, spare: false, holder: 0 }, outcome);
      takes.forEach((take, i) => {
        const { bucket, cost } = take;
        if (bucket.lending !== 'leased') return;
        if (passed) this.locals.taken(take, outcome[i]!, atUs, at);
        else if (!allows(bucket, outcome[i]!, cost) && this.locals.isLentElsewhere(take.key)) this.counts.refusedWhileLent++;
      });
    }
    answer(...found);
  }
}

/** What is found of the takes of a request without the store; undefined where the store has to be asked. */
interface Here {
  readonly locals: readonly (HeldLease | OptimisticBucket | undefined)[];
  readonly levels: readonly (BucketLevel | undefined)[];
  readonly marks: readonly (SpentMark | undefined)[];
  /** By the clock of the store. */
  readonly atUs: number;
}

function isLendable(takes: readonly BucketTake[]): boolean {
  for (let i = 0; i < takes.length; i++) if (takes[i]!.bucket.lending !== undefined) return true;
  return false;
}

function sourceOf(takes: readonly BucketTake[]): 'lease' | 'optimistic' {
  return takes.some(({ bucket }) => bucket.lending === 'optimistic') ? 'optimistic' : 'lease';
}

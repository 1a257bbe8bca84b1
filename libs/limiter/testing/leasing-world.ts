import {
  allPass,
  bucketOf,
  editLimits,
  LeasingBucketStore,
  MemoryBucketStore,
  startLimits,
  StoreUnavailableError,
  type Bucket,
  type BucketLender,
  type BucketStore,
  type Consistency,
  type Limit,
  type LimitSpec,
  type Receipt,
  type TakeAnswer,
  type TakeRequest,
  type TakeSource,
} from '../src/index.js';
import { FakeClock } from './fake-clock.js';
import { asking } from './takes.js';

/** What becomes of a call of a gateway on its way to the store and back. Times are in milliseconds. */
export interface Passage {
  readonly thereMs: number;
  readonly backMs: number;
  readonly loses: 'nothing' | 'call' | 'answer';
}

const AT_ONCE: Passage = { thereMs: 0, backMs: 0, loses: 'nothing' };
/** A gateway waits so long for an answer. */
const DEADLINE_MS = 25;

/** What a request has got. */
export interface LeasedAnswer {
  readonly allowed: boolean;
  readonly source: TakeSource;
  readonly failed: boolean;
  /** When each bucket was taken from, if it passed: here when it was asked, at the store when the call was there. Milliseconds. */
  readonly atMs: readonly number[];
  /** What gives back what it took. */
  readonly refund: () => void;
}

/** Several processes that lease from one store, on a simulated clock: their calls can be late and get lost, and their own clocks can be wrong. */
export class LeasingWorld {
  readonly clock = new FakeClock(START_MS);
  readonly store = new MemoryBucketStore(this.clock.now);
  readonly gateways: LeasingGateway[];
  /** Of the calls that come now; they are taken in turn. */
  passages: readonly Passage[] = [AT_ONCE];
  /** Calls that have reached the store. */
  takes = 0;
  lends = 0;
  refunds = 0;
  limits: readonly Limit[];
  private next = 0;
  private nextTickMs = START_MS + TICK_MS;
  private readonly due: { readonly atMs: number; readonly run: () => void }[] = [];

  constructor(specs: readonly LimitSpec[], gateways: number, consistency: Consistency = 'leased', maxBytes?: number) {
    this.limits = startLimits(specs, 0);
    this.gateways = Array.from({ length: gateways }, (_, i) => new LeasingGateway(this, i + 1, consistency, maxBytes));
  }

  /** The numbers of the limits change; a gateway knows of it when it reads them. Live buckets are carried over at once, as preloaders do it. */
  edit(specs: readonly LimitSpec[]): void {
    this.limits = editLimits(this.limits, specs, this.clock.nowMs);
    this.store.take(asking(this.limits.map((limit, i) => ({ key: `k${i}`, bucket: bucketOf(limit), cost: 0 }))), NOBODY_WAITS);
  }

  /** What is on its way arrives meanwhile, and gateways tick. */
  advance(ms: number): void {
    const untilMs = this.clock.nowMs + ms;
    for (; this.nextTickMs <= untilMs; this.nextTickMs += TICK_MS) {
      this.arriveUntil(this.nextTickMs);
      for (const gateway of this.gateways) gateway.tick();
    }
    this.arriveUntil(untilMs);
  }

  /** Nothing happens for so long: a machine that all of them share was asleep. */
  leap(ms: number): void {
    this.clock.nowMs += ms;
    this.nextTickMs += ms;
    this.advance(TICK_MS);
  }

  /** Sends a call that calls back with what `fail` is given, if no answer comes in time. */
  send<A extends unknown[]>(call: (answer: (...outcome: A) => void) => void, answer: (...outcome: A) => void, fail: () => void): void {
    const { thereMs, backMs, loses } = this.passages[this.next++ % this.passages.length]!;
    let isOver = false;
    const once = (run: () => void): void => {
      if (!isOver) run();
      isOver = true;
    };
    if (loses !== 'nothing' || thereMs + backMs > DEADLINE_MS) this.later(DEADLINE_MS, () => once(fail));
    if (loses === 'call') return;
    this.later(thereMs, () =>
      call((...outcome) => {
        if (loses === 'nothing') this.later(backMs, () => once(() => answer(...outcome)));
      }),
    );
  }

  /** Something happens so much later, while the world advances. */
  later(ms: number, run: () => void): void {
    if (ms === 0) run();
    else this.due.push({ atMs: this.clock.nowMs + ms, run });
  }

  private arriveUntil(untilMs: number): void {
    for (;;) {
      this.due.sort((a, b) => a.atMs - b.atMs);
      const [first] = this.due;
      if (first === undefined || first.atMs > untilMs) break;
      this.due.shift();
      this.clock.nowMs = first.atMs;
      first.run();
    }
    this.clock.nowMs = untilMs;
  }
}

const NOBODY_WAITS = (): void => {};
const START_MS = 90_000_000_000;
const TICK_MS = 20;

/** One process: its store, and the clocks of its machine. */
export class LeasingGateway {
  readonly store: LeasingBucketStore;
  isAlive = true;
  /** By how much the clock on its wall is ahead. */
  wallAheadMs = 0;
  /** For so long its machine has been suspended. */
  suspendedMs = 0;
  /** Those that it knows of. */
  limits: readonly Limit[];

  constructor(
    private readonly world: LeasingWorld,
    lessee: number,
    private readonly consistency: Consistency,
    maxBytes: number | undefined,
  ) {
    const { clock, store } = world;
    this.limits = world.limits;
    const way: BucketStore & BucketLender = {
      take: (request, answer) => {
        world.takes++;
        const fail = () => answer(new StoreUnavailableError('no answer'), 0);
        world.send<Parameters<TakeAnswer>>((heard) => store.take(request, heard), answer, fail);
      },
      lend: (request, answer) => {
        world.lends++;
        const fail = () => answer(new StoreUnavailableError('no answer'), 0);
        world.send<Parameters<typeof answer>>((heard) => store.lend(request, heard), answer, fail);
      },
      release: () => {},
      refund(receipt) {
        world.refunds++;
        const refunded = (done: () => void) => (store.refund(receipt), done());
        world.send<[]>(refunded, NOBODY_WAITS, NOBODY_WAITS);
      },
    };
    this.store = new LeasingBucketStore(way, way, {
      lessee,
      horizonMs: 1000,
      ...(maxBytes !== undefined && { maxBytes }),
      now: () => clock.nowMs - this.suspendedMs,
      wall: () => clock.nowMs + this.wallAheadMs,
      storeAheadMs: () => -this.wallAheadMs,
    });
  }

  /** Reads the rules. */
  hear(): void {
    this.limits = this.world.limits;
  }

  tick(): void {
    if (this.isAlive) this.store.tick();
  }

  /** Asks the buckets of all limits, under the key of each. */
  ask(cost: number, answered: (answer: LeasedAnswer) => void): void {
    if (!this.isAlive) return;
    const request: TakeRequest = asking(this.takes(cost));
    const askedAtMs = this.world.clock.nowMs;
    this.store.take(request, (outcome, takenAtUs, source = 'store', _state, marks) => {
      // What a process that has died meanwhile hears comes to nobody.
      if (!this.isAlive) return;
      const failed = outcome instanceof Error;
      const allowed = !failed && allPass(request, outcome);
      const refund = () => {
        if (allowed && this.isAlive) this.store.refund({ ...request, levels: outcome, takenAtUs, marks } satisfies Receipt);
      };
      // What is decided here is answered at once, also if it waited for an answer about a lease before.
      const hereAtMs = source === 'store' ? askedAtMs : this.world.clock.nowMs;
      const atMs = failed ? [] : outcome.map((_, i) => (marks?.[i] === undefined ? takenAtUs / 1000 : hereAtMs));
      answered({ allowed, failed, source, atMs, refund });
    });
  }

  /** What a request takes. */
  takes(cost: number): { key: string; bucket: Bucket; cost: number }[] {
    const { consistency } = this;
    return this.limits.map((limit, i) => ({
      key: `k${i}`,
      bucket: { ...bucketOf(limit), ...(consistency !== 'exact' && { lending: consistency }) },
      cost,
    }));
  }
}

import { allPass, bucketOf, LeasingBucketStore, MemoryBucketStore, startLimits, type Bucket, type TakeRequest } from '#limiter';
import { seededRandom, type Random } from '../random.js';
import { GatheringStore } from './gathering-store.js';
import { Zipf } from './zipf.js';

export interface FleetRun {
  readonly seed: number;
  readonly instances: number;
  /** To how many instances the requests of one merchant go. */
  readonly spread: number;
  readonly merchants: number;
  /** How uneven they are: 1 is Zipf's law. */
  readonly exponent: number;
  readonly decisionsPerSecond: number;
  readonly seconds: number;
  /** Of a lease. Requests come for so long before they are counted. */
  readonly horizonMs: number;
  /** How many times its load the limit of a merchant allows. */
  readonly headroom: number;
}

/** What was counted, in all instances together. */
export interface FleetFigures {
  readonly consistency: 'exact' | 'leased';
  readonly seconds: number;
  readonly decisions: number;
  readonly admitted: number;
  /** Decisions for which Redis was not asked. */
  readonly withoutCall: number;
  readonly takes: number;
  readonly lends: number;
  /** Script calls, of takes and of reports that were gathered. */
  readonly calls: number;
  /** Requests that were refused while others held tokens of the bucket. */
  readonly refusedWhileLent: number;
}

/** A call is gathered for so long, and takes as long: about a turn of a busy event loop. */
const STEP_MS = 1;
/** How often an instance looks after its leases, as an enforcer does. */
const TICK_STEPS = 20;

/** Lets requests go through instances of the product's own store of leases, over one store in memory, in virtual time. */
export function runFleet(run: FleetRun, consistency: FleetFigures['consistency']): FleetFigures {
  const fleet = new Fleet(run, consistency);
  fleet.advance(run.horizonMs);
  const before = fleet.counted();
  fleet.advance(run.seconds * 1000);
  const after = fleet.counted();
  const during = Object.fromEntries(Object.entries(after).map(([name, value]) => [name, value - before[name as keyof typeof before]]));
  return { consistency, seconds: run.seconds, ...(during as typeof after) };
}

interface Instance {
  readonly gathered: GatheringStore;
  readonly store: LeasingBucketStore;
}

class Fleet {
  private nowMs = START_MS;
  private steps = 0;
  private decisions = 0;
  private admitted = 0;
  private withoutCall = 0;
  private readonly instances: readonly Instance[];
  private readonly zipf: Zipf;
  private readonly requests: readonly TakeRequest[];
  private readonly random: Random;
  /** Requests that the steps so far were too short for. */
  private owed = 0;

  constructor(
    private readonly run: FleetRun,
    consistency: FleetFigures['consistency'],
  ) {
    const { seed, instances, merchants, exponent, horizonMs } = run;
    this.random = seededRandom(seed, 'fleet');
    this.zipf = new Zipf(merchants, exponent);
    this.requests = requestsOf(run, this.zipf, consistency);
    const now = (): number => this.nowMs;
    const shared = new MemoryBucketStore(now, merchants + 1);
    this.instances = Array.from({ length: instances }, (_, i) => {
      const gathered = new GatheringStore(shared);
      const options = { lessee: i + 1, horizonMs, now, wall: now, storeAheadMs: () => 0 };
      return { gathered, store: new LeasingBucketStore(gathered, gathered, options) };
    });
  }

  counted(): Omit<FleetFigures, 'consistency' | 'seconds'> {
    const sum = (of: (each: Instance) => number): number => this.instances.reduce((total, each) => total + of(each), 0);
    return {
      decisions: this.decisions,
      admitted: this.admitted,
      withoutCall: this.withoutCall,
      takes: sum(({ gathered }) => gathered.takes),
      lends: sum(({ gathered }) => gathered.lends),
      calls: sum(({ gathered }) => gathered.calls),
      refusedWhileLent: sum(({ store }) => store.counts.refusedWhileLent),
    };
  }

  advance(ms: number): void {
    for (const untilMs = this.nowMs + ms; this.nowMs < untilMs;) this.step();
  }

  private step(): void {
    this.nowMs += STEP_MS;
    for (const { gathered } of this.instances) gathered.deliver();
    if (this.steps++ % TICK_STEPS === 0) for (const { store } of this.instances) store.tick();
    this.owed += (this.run.decisionsPerSecond * STEP_MS) / 1000;
    for (; this.owed >= 1; this.owed--) this.ask(this.zipf.next(this.random));
  }

  private ask(merchant: number): void {
    const { instances, spread } = this.run;
    const { store } = this.instances[(merchant * SCATTER + this.random.below(spread)) % instances]!;
    const request = this.requests[merchant]!;
    store.take(request, (outcome, _atUs, source) => {
      this.decisions++;
      if (source === 'lease') this.withoutCall++;
      if (!(outcome instanceof Error) && allPass(request, outcome)) this.admitted++;
    });
  }
}

const START_MS = 1_700_000_000_000;
/** A prime: merchants of neighbouring ranks go to other instances. */
const SCATTER = 7919;
const LEAST_PER_SECOND = 10;
/** More is not written as one limit. */
const MOST_PER_SECOND = 1_000_000;

/** What a request of each merchant takes. Limits are rounded up to powers of two, so that merchants can share their numbers. */
function requestsOf(
  { merchants, decisionsPerSecond, headroom }: FleetRun,
  zipf: Zipf,
  consistency: FleetFigures['consistency'],
): TakeRequest[] {
  const buckets = new Map<number, Bucket>();
  return Array.from({ length: merchants }, (_, i) => {
    const wanted = Math.max(LEAST_PER_SECOND, zipf.share(i) * decisionsPerSecond * headroom);
    const perSecond = Math.min(MOST_PER_SECOND, 2 ** Math.ceil(Math.log2(wanted)));
    let bucket = buckets.get(perSecond);
    if (bucket === undefined) buckets.set(perSecond, (bucket = bucketFor(perSecond, consistency)));
    return { takes: [{ key: String(i), bucket, cost: 1 }], holder: 0, spare: false };
  });
}

function bucketFor(perSecond: number, consistency: FleetFigures['consistency']): Bucket {
  const numbers = { capacity: perSecond, refillTokens: perSecond, refillIntervalMs: 1000, refill: 'greedy' } as const;
  const [limit] = startLimits([{ name: 'a second', algorithm: 'token_bucket', ...numbers }], 0);
  return { ...bucketOf(limit!), ...(consistency === 'leased' && { lending: consistency }) };
}

/** The microseconds of a decision from a lease, without the enforcer around it: measured here, on one hot bucket. @param cpuMs milliseconds of a core that were used so far */
export function leasedMicroseconds(cpuMs: () => number): number {
  const [merchants, decisions] = [1, 400_000];
  const run: FleetRun = {
    seed: 1,
    instances: 1,
    spread: 1,
    merchants,
    exponent: 1,
    decisionsPerSecond: decisions,
    seconds: 1,
    horizonMs: 1000,
    headroom: 2,
  };
  const fleet = new Fleet(run, 'leased');
  fleet.advance(run.horizonMs);
  const startedMs = cpuMs();
  fleet.advance(1000);
  return ((cpuMs() - startedMs) * 1000) / decisions;
}

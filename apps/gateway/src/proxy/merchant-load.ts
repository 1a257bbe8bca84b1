import { InFlightMap } from '#waiting';
import type { FairShare } from './fair-share.js';
import type { SlotHolding } from './slot-holding.js';

/** Merchants that are remembered, at most: enough that most requests find theirs. */
const REMEMBERED = 4_096;

/** What one merchant has under way in this gateway. A request that belongs to no merchant counts for its peer. */
export class MerchantLoad {
  /** Requests begun and not ended. */
  inFlight = 0;
  /** Slots of all upstreams. */
  slots = 0;
  /** Those of them that wait for the upstream to begin its answer; counted only where overload is controlled. */
  awaiting = 0;
  /** Bytes of bodies that wait in memory. */
  bufferedBytes = 0;
  /** WebSockets that are open, or going to be. */
  webSockets = 0;
  /** Its part of everything that is shared, compared with others. All are equal so far. */
  readonly weight = 1;

  /** Usually there is one upstream, or the one that was asked last is asked again. */
  private last: UpstreamHolding | undefined;
  private others: WeakMap<object, UpstreamHolding> | undefined;

  constructor(readonly key: string) {}

  /** Whether it was ever on its way to an upstream. */
  get wasForwarded(): boolean {
    return this.last !== undefined;
  }

  /** What it holds of the slots of one upstream. */
  in(slots: object): SlotHolding {
    const { last } = this;
    if (last?.of === slots) return last;
    const holding = this.others?.get(slots) ?? new UpstreamHolding(this, slots);
    if (last !== undefined) (this.others ??= new WeakMap<object, UpstreamHolding>()).set(last.of, last).set(slots, holding);
    this.last = holding;
    return holding;
  }
}

/** For a merchant with one upstream. What it holds there counts in its sum, too. */
class UpstreamHolding implements SlotHolding {
  awaiting = 0;
  private held = 0;

  constructor(
    private readonly load: MerchantLoad,
    /** Slots of the upstream. */
    readonly of: object,
  ) {}

  get slots(): number {
    return this.held;
  }

  set slots(slots: number) {
    this.load.slots += slots - this.held;
    this.held = slots;
  }

  get weight(): number {
    return this.load.weight;
  }
}

/**
 * How many requests each merchant has under way, and whether it may have more. A merchant one of whose requests was forwarded is remembered when it has nothing
 * under way. An id whose requests were all refused is not: thousands of them that come once would live just long enough to be moved to the old objects, which only
 * a full collection of garbage clears.
 */
export class MerchantLoads {
  private readonly remembered = new Map<string, MerchantLoad>();
  /** The others that have something under way. */
  private readonly others = new InFlightMap<MerchantLoad>();

  constructor(private readonly inFlight: FairShare) {}

  /** Counts a request in; null if the merchant has its share already. */
  enter(key: string): MerchantLoad | null {
    let load = this.remembered.get(key) ?? this.others.get(key);
    if (!this.inFlight.mayTake(load === undefined ? 0 : load.inFlight, 1, load?.weight)) return null;
    if (load === undefined) {
      load = new MerchantLoad(key);
      this.others.set(key, load);
    }
    load.inFlight++;
    this.inFlight.used++;
    return load;
  }

  leave(load: MerchantLoad): void {
    load.inFlight--;
    this.inFlight.used--;
    this.forgetIdle(load);
  }

  /** To be called when the merchant may have nothing left under way. */
  forgetIdle(load: MerchantLoad): void {
    // A slot may be held for a while after its request: forgotten, it would not count any more.
    const idle = load.inFlight === 0 && load.slots === 0;
    if (!idle || this.others.get(load.key) !== load) return;
    this.others.delete(load.key);
    if (load.wasForwarded && this.remembered.size < REMEMBERED) this.remembered.set(load.key, load);
  }

  /** Merchants that are remembered, or have something under way. */
  get size(): number {
    return this.remembered.size + this.others.size;
  }
}

import type { Criticality } from '#platform';
import { AdaptiveLimit } from './adaptive-limit.js';
import { FairShare } from '../sharing/fair-share.js';
import type { SlotHolding } from '../sharing/slot-holding.js';

export interface OverloadSettings {
  /** The least that the limit may adapt to; undefined: it is as many as there are connections. */
  readonly adaptiveFrom: number | undefined;
  /** Part of the places that is kept for critical requests, and as much again from sheddable ones. 0: nothing is kept. */
  readonly reserve: number;
}

/**
 * The places of requests that wait for the upstream to begin its answer. A request has one beside its slot, which it keeps to the end of the answer: a stream that goes
 * on for hours is no load that the latency would show. Merchants share places as they share slots.
 */
export class UpstreamPlaces {
  private readonly share: FairShare;
  private readonly adaptive: AdaptiveLimit | undefined;

  constructor(
    private readonly settings: OverloadSettings,
    slots: number,
    share: number,
  ) {
    const { adaptiveFrom } = settings;
    this.share = new FairShare(slots, share);
    if (adaptiveFrom !== undefined) this.adaptive = new AdaptiveLimit({ initial: slots, min: Math.min(adaptiveFrom, slots), max: slots });
  }

  get limit(): number {
    return this.share.capacity;
  }

  get inFlight(): number {
    return this.share.used;
  }

  /** How many of so many places a request of this criticality may not have. */
  reserved(places: number, criticality: Criticality): number {
    if (criticality === 'critical') return 0;
    return Math.floor(places * this.settings.reserve * (criticality === 'normal' ? 1 : 2));
  }

  mayTake(load: SlotHolding, criticality: Criticality): boolean {
    const { share } = this;
    const may = share.mayTake(load.awaiting, 1, load.weight, this.reserved(share.capacity, criticality));
    if (!may) this.adaptive?.turnedAway();
    return may;
  }

  /** Whether a request of this criticality would find no place, whoever sends it. */
  isFullFor(criticality: Criticality): boolean {
    const isFull = this.share.free <= this.reserved(this.share.capacity, criticality);
    if (isFull) this.adaptive?.turnedAway();
    return isFull;
  }

  take(load: SlotHolding): void {
    this.share.used++;
    load.awaiting++;
  }

  release(load: SlotHolding): void {
    this.share.used--;
    load.awaiting--;
  }

  /** @param tookMs from the request on its connection to the headers of its answer */
  answered(tookMs: number): void {
    this.adaptive?.answered(tookMs, this.share.used);
  }

  failed(): void {
    this.adaptive?.failed();
  }

  /** Whether there are more places than before. */
  tick(nowMs: number): boolean {
    if (this.adaptive === undefined) return false;
    const before = this.share.capacity;
    this.adaptive.tick(nowMs);
    this.share.capacity = this.adaptive.limit;
    return this.share.capacity > before;
  }
}

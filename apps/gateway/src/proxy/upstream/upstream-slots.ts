import type { Criticality } from '#platform';
import { FairShare } from '../sharing/fair-share.js';
import { LinkedList, ListNode } from '../sharing/linked-list.js';
import type { SlotHolding } from '../sharing/slot-holding.js';
import type { UpstreamPlaces } from './upstream-places.js';

/** A request that waits for a slot. One of the two is called, once, unless it leaves before. */
export interface SlotSeeker {
  /** From now on it holds a slot. */
  slotTaken(): void;
  /** It has waited for too long, and waits no more. */
  slotTooLate(): void;
}

/** A place in the queue. */
export class Waiter {
  /** Among those of its merchant. */
  readonly ofMerchant = new ListNode<Waiter>(this);
  /** Among all. */
  readonly ofAll = new ListNode<Waiter>(this);
  waiting = true;

  constructor(
    readonly seeker: SlotSeeker,
    readonly queue: MerchantQueue,
    readonly sinceMs: number,
  ) {}
}

/** The requests of one merchant that wait, first come, first served. */
class MerchantQueue {
  readonly waiters = new LinkedList<Waiter>();
  readonly node = new ListNode<MerchantQueue>(this);
  /** Index of the list that it is in. */
  level = 0;

  constructor(
    readonly load: SlotHolding,
    readonly line: Line,
  ) {}
}

/** The merchants whose requests of some criticality wait, by the number of slots that they hold (for their weight). */
class Line {
  readonly queues = new Map<SlotHolding, MerchantQueue>();
  readonly levels: LinkedList<MerchantQueue>[];

  constructor(
    slots: number,
    readonly criticality: Criticality,
  ) {
    this.levels = Array.from({ length: slots + 1 }, () => new LinkedList<MerchantQueue>());
  }

  place(queue: MerchantQueue): void {
    queue.level = Math.floor(queue.load.slots / queue.load.weight);
    this.levels[queue.level]!.push(queue.node);
  }

  move(queue: MerchantQueue): void {
    this.levels[queue.level]!.remove(queue.node);
    this.place(queue);
  }

  forget(queue: MerchantQueue): void {
    this.levels[queue.level]!.remove(queue.node);
    this.queues.delete(queue.load);
  }
}

/**
 * The slots of an upstream, each for one request at a time, and the queue for them.
 *
 * A merchant may hold its fair share and no more, be it as slow as it likes; the rest stays free for others. Of the merchants
 * that wait, one with the fewest slots is served first, and those with as many in turn. So a merchant waits for others
 * only while all slots are taken. No request waits longer than the time-out.
 *
 * Where overload is controlled, a request also has a place while it waits for its answer to begin, and critical requests are served before all others.
 *
 * Each call takes constant time: the levels that are searched are no more than a merchant may hold.
 */
export class UpstreamSlots {
  /** Requests that wait. */
  waiting = 0;

  private readonly share: FairShare;
  /** The most critical first. */
  private readonly lines: readonly Line[];
  private readonly order = new LinkedList<Waiter>();
  private serving = false;

  constructor(
    slots: number,
    share: number,
    private readonly timeoutMs: number,
    /** Null: overload is not controlled. */
    private readonly places: UpstreamPlaces | null = null,
  ) {
    this.share = new FairShare(slots, share);
    const waits: readonly Criticality[] = places === null ? ['normal'] : ['critical', 'normal'];
    this.lines = waits.map((criticality) => new Line(slots, criticality));
  }

  /** Slots that are taken. */
  get used(): number {
    return this.share.used;
  }

  /** Requests that the upstream may have at once before it has begun to answer them. */
  get limit(): number {
    return this.places === null ? this.share.capacity : this.places.limit;
  }

  /** Requests that the upstream has and has not begun to answer; where overload is not controlled, all that hold slots. */
  get inFlight(): number {
    return this.places === null ? this.share.used : this.places.inFlight;
  }

  /** Whether no request of this criticality would get a slot now, whoever sends it. */
  isFullFor(criticality: Criticality): boolean {
    return this.places !== null && this.places.isFullFor(criticality);
  }

  /** Takes a slot if the merchant may have one now. */
  take(load: SlotHolding, criticality: Criticality = 'normal'): boolean {
    // It overtakes none of its merchant's but less critical ones.
    if (this.waiting > 0 && this.lines.some((line) => line.queues.has(load) && !isLess(line.criticality, criticality))) return false;
    if (!this.mayTake(load, criticality)) return false;
    this.give(load);
    return true;
  }

  /** Waits for a slot, as `take` gave none. */
  wait(load: SlotHolding, seeker: SlotSeeker, nowMs: number, criticality: Criticality = 'normal'): Waiter {
    const line = criticality === 'critical' ? this.lines[0]! : this.lines.at(-1)!;
    let queue = line.queues.get(load);
    if (queue === undefined) {
      queue = new MerchantQueue(load, line);
      line.queues.set(load, queue);
      line.place(queue);
    }
    const waiter = new Waiter(seeker, queue, nowMs);
    queue.waiters.push(waiter.ofMerchant);
    this.order.push(waiter.ofAll);
    this.waiting++;
    return waiter;
  }

  /** The request waits no more. Does nothing if it does not wait. */
  leave(waiter: Waiter): void {
    if (!waiter.waiting) return;
    this.remove(waiter);
    const { queue } = waiter;
    if (queue.waiters.first === null) queue.line.forget(queue);
  }

  /** Gives a slot back; the waiting request whose turn it is gets it. */
  release(load: SlotHolding): void {
    this.share.used--;
    load.slots--;
    if (this.waiting === 0) return;
    this.moveQueues(load);
    this.serve();
  }

  /**
   * The upstream has begun its answer, or nothing comes of it: the request waits for it no more. To be called once for each slot that was taken, before that
   * is released.
   *
   * @param outcome how long the upstream took, in milliseconds; undefined: what happened says nothing about it
   */
  awaitsNoMore(load: SlotHolding, outcome: number | 'failed' | undefined): void {
    if (this.places === null) return;
    if (outcome === 'failed') this.places.failed();
    else if (outcome !== undefined) this.places.answered(outcome);
    this.places.release(load);
    if (this.waiting > 0) this.serve();
  }

  /** Ends the waiting of those that have waited for too long, and adapts the limit. */
  tick(nowMs: number): void {
    this.expire(nowMs);
    if (this.places?.tick(nowMs) && this.waiting > 0) this.serve();
  }

  /** Ends the waiting of those that have waited for too long. */
  expire(nowMs: number): void {
    for (;;) {
      const oldest = this.order.first?.value;
      if (oldest === undefined || nowMs - oldest.sinceMs < this.timeoutMs) return;
      this.leave(oldest);
      oldest.seeker.slotTooLate();
    }
  }

  private serve(): void {
    // A request that fails at once gives its slot back from within `slotTaken`; the loop below then goes on.
    if (this.serving) return;
    this.serving = true;
    try {
      for (let queue = this.next(); queue !== null; queue = this.next()) {
        const waiter = queue.waiters.first!.value;
        this.remove(waiter);
        this.give(queue.load);
        if (queue.waiters.first === null) queue.line.forget(queue);
        waiter.seeker.slotTaken();
      }
    } finally {
      this.serving = false;
    }
  }

  private mayTake(load: SlotHolding, criticality: Criticality): boolean {
    const { places, share } = this;
    if (places === null) return share.mayTake(load.slots, 1, load.weight);
    const reserved = places.reserved(share.capacity, criticality);
    return share.mayTake(load.slots, 1, load.weight, reserved) && places.mayTake(load, criticality);
  }

  private give(load: SlotHolding): void {
    this.share.used++;
    load.slots++;
    this.places?.take(load);
    if (this.waiting > 0) this.moveQueues(load);
  }

  private moveQueues(load: SlotHolding): void {
    for (const line of this.lines) {
      const queue = line.queues.get(load);
      if (queue !== undefined) line.move(queue);
    }
  }

  private next(): MerchantQueue | null {
    if (this.share.free === 0 || this.waiting === 0) return null;
    for (const line of this.lines) {
      const queue = line.queues.size === 0 ? null : this.nextOf(line);
      if (queue !== null) return queue;
    }
    return null;
  }

  private nextOf({ criticality, levels }: Line): MerchantQueue | null {
    const { free, share } = this.share;
    const highest = Math.min(levels.length - 1, Math.ceil(share * free));
    for (let level = 0; level <= highest; level++) {
      const queue = levels[level]!.first?.value;
      if (queue !== undefined && this.mayTake(queue.load, criticality)) return queue;
    }
    return null;
  }

  private remove(waiter: Waiter): void {
    waiter.waiting = false;
    waiter.queue.waiters.remove(waiter.ofMerchant);
    this.order.remove(waiter.ofAll);
    this.waiting--;
  }
}

/** Only these two wait. */
function isLess(a: Criticality, b: Criticality): boolean {
  return a === 'normal' && b === 'critical';
}

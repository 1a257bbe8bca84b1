import { FairShare } from './fair-share.js';
import { LinkedList, ListNode } from './linked-list.js';

/** What one merchant holds of the slots of one upstream. */
export interface SlotHolding {
  slots: number;
  /** One of twice the weight may have twice as many. */
  readonly weight: number;
}

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

  constructor(readonly load: SlotHolding) {}
}

/**
 * The slots of an upstream, each for one request at a time, and the queue for them.
 *
 * A merchant may hold its fair share and no more, be it as slow as it likes; the rest stays free for others. Of the merchants
 * that wait, one with the fewest slots is served first, and those with as many in turn. So a merchant waits for others
 * only while all slots are taken. No request waits longer than the time-out.
 *
 * Each call takes constant time: the levels that are searched are no more than a merchant may hold.
 */
export class UpstreamSlots {
  /** Requests that wait. */
  waiting = 0;

  private readonly share: FairShare;
  private readonly queues = new Map<SlotHolding, MerchantQueue>();
  /** The merchants that wait, by the number of slots that they hold (for their weight). */
  private readonly levels: LinkedList<MerchantQueue>[];
  private readonly order = new LinkedList<Waiter>();
  private serving = false;

  constructor(
    slots: number,
    share: number,
    private readonly timeoutMs: number,
  ) {
    this.share = new FairShare(slots, share);
    this.levels = Array.from({ length: slots + 1 }, () => new LinkedList<MerchantQueue>());
  }

  /** Slots that are taken. */
  get used(): number {
    return this.share.used;
  }

  /** Takes a slot if the merchant may have one now. */
  take(load: SlotHolding): boolean {
    // Only from within `slotTaken` could it overtake one that is about to be served.
    if (this.waiting > 0 && this.queues.has(load)) return false;
    if (!this.share.mayTake(load.slots, 1, load.weight)) return false;
    this.share.used++;
    load.slots++;
    return true;
  }

  /** Waits for a slot, as `take` gave none. */
  wait(load: SlotHolding, seeker: SlotSeeker, nowMs: number): Waiter {
    let queue = this.queues.get(load);
    if (queue === undefined) {
      queue = new MerchantQueue(load);
      this.queues.set(load, queue);
      this.place(queue);
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
    if (queue.waiters.first === null) this.forget(queue);
  }

  /** Gives a slot back; the waiting request whose turn it is gets it. */
  release(load: SlotHolding): void {
    this.share.used--;
    load.slots--;
    if (this.waiting === 0) return;
    const queue = this.queues.get(load);
    if (queue !== undefined) this.move(queue);
    this.serve();
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
        this.share.used++;
        queue.load.slots++;
        if (queue.waiters.first === null) this.forget(queue);
        else this.move(queue);
        waiter.seeker.slotTaken();
      }
    } finally {
      this.serving = false;
    }
  }

  private next(): MerchantQueue | null {
    const { free, share } = this.share;
    if (free === 0 || this.waiting === 0) return null;
    const highest = Math.min(this.levels.length - 1, Math.ceil(share * free));
    for (let level = 0; level <= highest; level++) {
      const queue = this.levels[level]!.first?.value;
      if (queue !== undefined && this.share.mayTake(queue.load.slots, 1, queue.load.weight)) return queue;
    }
    return null;
  }

  private remove(waiter: Waiter): void {
    waiter.waiting = false;
    waiter.queue.waiters.remove(waiter.ofMerchant);
    this.order.remove(waiter.ofAll);
    this.waiting--;
  }

  private place(queue: MerchantQueue): void {
    queue.level = Math.floor(queue.load.slots / queue.load.weight);
    this.levels[queue.level]!.push(queue.node);
  }

  private move(queue: MerchantQueue): void {
    this.levels[queue.level]!.remove(queue.node);
    this.place(queue);
  }

  private forget(queue: MerchantQueue): void {
    this.levels[queue.level]!.remove(queue.node);
    this.queues.delete(queue.load);
  }
}

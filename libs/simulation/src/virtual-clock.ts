/**
 * Time that passes as fast as it can be computed: a queue of what is to happen, in order. What is planned for the same
 * instant happens in the order in which it was planned, so that a run has one course only.
 */
export class VirtualClock {
  private readonly heap: Event[] = [];
  private planned = 0;
  private currentMs = 0;

  /** Milliseconds since the run began. */
  get nowMs(): number {
    return this.currentMs;
  }

  /** Plans something for an instant; what would lie in the past happens now. */
  at(atMs: number, happen: () => void): void {
    this.push({ atMs: Math.max(atMs, this.currentMs), order: this.planned++, happen });
  }

  after(ms: number, happen: () => void): void {
    this.at(this.currentMs + ms, happen);
  }

  /** Lets everything happen that is planned up to an instant, and all that comes of it up to there. */
  runUntil(endMs: number): void {
    for (let event = this.heap[0]; event !== undefined && event.atMs <= endMs; event = this.heap[0]) {
      this.pop();
      this.currentMs = event.atMs;
      event.happen();
    }
    this.currentMs = Math.max(this.currentMs, endMs);
  }

  private push(event: Event): void {
    const { heap } = this;
    let index = heap.length;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (isBefore(heap[parent]!, event)) break;
      heap[index] = heap[parent]!;
      index = parent;
    }
    heap[index] = event;
  }

  private pop(): void {
    const { heap } = this;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (isBefore(last, heap[child]!)) break;
      heap[index] = heap[child]!;
      index = child;
    }
    heap[index] = last;
  }
}

interface Event {
  readonly atMs: number;
  readonly order: number;
  readonly happen: () => void;
}

const isBefore = (a: Event, b: Event): boolean => a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);

import type { Bound } from '../bound.js';

/**
 * The perfect sliding log: every request of the last window, as it was. The yardstick for all others, and deliberately not
 * the limiter's own, so that no error of that one could hide.
 */
export class PerfectLog {
  /** In microseconds, because sums of fractions of a millisecond would blur the edge of the window. */
  private readonly atUs: number[] = [];
  private readonly costs: number[] = [];
  private first = 0;
  private sum = 0;
  private readonly windowUs: number;

  constructor(private readonly bound: Bound) {
    this.windowUs = Math.round(bound.windowMs * 1000);
  }

  /** Tokens taken in the window that ends at an instant. A request is out of it when it is exactly one window old. */
  used(nowMs: number): number {
    const edgeUs = Math.round(nowMs * 1000) - this.windowUs;
    while (this.first < this.atUs.length && this.atUs[this.first]! <= edgeUs) this.sum -= this.costs[this.first++]!;
    return this.sum;
  }

  add(cost: number, nowMs: number): void {
    this.atUs.push(Math.round(nowMs * 1000));
    this.costs.push(cost);
    this.sum += cost;
  }

  take(cost: number, nowMs: number): boolean {
    const allowed = this.used(nowMs) + cost <= this.bound.limit;
    if (allowed) this.add(cost, nowMs);
    return allowed;
  }
}

/**
 * How often this process lets something happen: so many at once, and so many a second for long. In plain numbers, because there is one for every
 * connection or peer; where a cache of buckets will do, see `Allowances`.
 */
export class Allowance {
  private left: number;

  /** @param sinceMs of the clock that `take` is told: it never steps back */
  constructor(
    private readonly atOnce: number,
    private readonly perSecond: number,
    private sinceMs: number,
  ) {
    this.left = atOnce;
  }

  /** Whether it may happen now. */
  allows(nowMs: number): boolean {
    this.left = Math.min(this.atOnce, this.left + ((nowMs - this.sinceMs) * this.perSecond) / 1000);
    this.sinceMs = nowMs;
    return this.left >= 1;
  }

  /** Counts it. False: it is too many, and was not counted. */
  take(nowMs: number): boolean {
    if (!this.allows(nowMs)) return false;
    this.left--;
    return true;
  }

  /** What was taken last does not count. */
  giveBack(): void {
    this.left = Math.min(this.atOnce, this.left + 1);
  }
}

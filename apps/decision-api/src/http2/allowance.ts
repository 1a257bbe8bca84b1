/** So many at once, and so many a second for long. */
export class Allowance {
  private left: number;
  private sinceMs: number;

  constructor(
    private readonly atOnce: number,
    private readonly perSecond: number,
    nowMs: number,
  ) {
    this.left = atOnce;
    this.sinceMs = nowMs;
  }

  /** False: it is used up. @param nowMs of a clock that never steps back */
  take(nowMs: number): boolean {
    if (this.left < 1) {
      this.left = Math.min(this.atOnce, this.left + ((nowMs - this.sinceMs) / 1000) * this.perSecond);
      this.sinceMs = nowMs;
      if (this.left < 1) return false;
    }
    this.left--;
    return true;
  }
}

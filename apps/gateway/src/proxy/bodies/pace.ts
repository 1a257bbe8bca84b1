/**
 * Tells whether a body moves fast enough. Silence uses up a credit of time, and each byte earns some back: at the least rate exactly as
 * much as it takes, and never more than the whole credit, so that a quick start buys no long silence later.
 */
export class Pace {
  private creditMs: number;

  /**
   * @param graceMs the credit: the longest silence
   * @param bytesPerSecond the least rate; 0: any byte restores the whole credit
   * @param bytes moved so far
   */
  constructor(
    private readonly graceMs: number,
    private readonly bytesPerSecond: number,
    private bytes: number,
  ) {
    this.creditMs = graceMs;
  }

  /**
   * @param bytes moved in all
   * @param elapsedMs time since the last call in which bytes were waited for
   * @returns whether the body has become too slow
   */
  tooSlow(bytes: number, elapsedMs: number): boolean {
    const moved = bytes - this.bytes;
    this.bytes = bytes;
    const earnedMs = this.bytesPerSecond > 0 ? (moved * 1000) / this.bytesPerSecond : moved > 0 ? this.graceMs : 0;
    this.creditMs = Math.min(this.graceMs, this.creditMs - elapsedMs + earnedMs);
    return this.creditMs < 0;
  }
}

/** A clock that stands still until it is told otherwise. Milliseconds; fractions are microseconds. */
export class FakeClock {
  constructor(public nowMs = 0) {}

  readonly now = (): number => this.nowMs;

  advance(ms: number): void {
    this.nowMs += ms;
  }
}

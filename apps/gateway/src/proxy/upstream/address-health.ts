/** After how many failures an address gets no more requests, and for how long. */
export interface PassiveHealth {
  /** In a row. */
  readonly failures: number;
  /** The first time. It doubles each time that the address fails again. */
  readonly ejectMs: number;
  readonly maxEjectMs: number;
}

/** After how many checks in a row an address is down, and up again. */
export interface CheckThresholds {
  readonly failures: number;
  readonly passes: number;
}

/** Also the values of a metric's label. */
export const ADDRESS_STATES = ['healthy', 'ejected', 'down'] as const;
export type AddressState = (typeof ADDRESS_STATES)[number];

/** Doubling this often reaches any `maxEjectMs` from any `ejectMs`. */
const MOST_DOUBLINGS = 30;

/**
 * What is known of one address of an upstream, by what becomes of its requests (passive) and by checks of its own (active). An address that failed too
 * often in a row is ejected: it gets no request for a time, then one. The answer to that one ends the ejection, a failure makes it twice as long.
 *
 * Times are those of a clock that never steps back, in milliseconds.
 */
export class AddressHealth {
  /** How often it was ejected. */
  ejected = 0;

  private failuresInRow = 0;
  /** Ejections since its last answer. */
  private ejectionsInRow = 0;
  private ejectedAtMs = 0;
  private untilMs = 0;
  private isDown = false;
  private checksInRow = 0;

  /** @param passive null: what becomes of requests ejects no address */
  constructor(
    private readonly passive: PassiveHealth | null,
    private readonly checks: CheckThresholds = { failures: 1, passes: 1 },
  ) {}

  /** Whether it may get a request now. */
  mayBeAsked(nowMs: number): boolean {
    return !this.isDown && (this.ejectionsInRow === 0 || nowMs >= this.untilMs);
  }

  /** It gets a request. While it is ejected that is a trial, and the next one has to wait for as long as before. */
  asked(nowMs: number): void {
    if (this.ejectionsInRow > 0 && nowMs >= this.untilMs) this.untilMs = nowMs + this.ejectionMs();
  }

  /** It answered a request. One that was sent before the ejection says nothing about what came after. */
  answered(sentAtMs: number): void {
    if (this.ejectionsInRow > 0 && sentAtMs < this.ejectedAtMs) return;
    this.failuresInRow = 0;
    this.ejectionsInRow = 0;
  }

  /** It failed a request. @returns whether that ejected it, or ejected it for longer */
  failed(nowMs: number): boolean {
    if (this.passive === null) return false;
    this.failuresInRow++;
    const isTrial = this.ejectionsInRow > 0 && nowMs >= this.ejectedAtMs + this.ejectionMs();
    const ejects = this.ejectionsInRow === 0 ? this.failuresInRow >= this.passive.failures : isTrial;
    if (!ejects) return false;
    this.ejected++;
    this.ejectionsInRow++;
    this.ejectedAtMs = nowMs;
    this.untilMs = nowMs + this.ejectionMs();
    return true;
  }

  /** A check has passed or failed. @returns whether that made it another state */
  checked(passed: boolean): boolean {
    if (passed !== this.isDown) {
      this.checksInRow = 0;
      return false;
    }
    this.checksInRow++;
    if (this.checksInRow < (passed ? this.checks.passes : this.checks.failures)) return false;
    this.checksInRow = 0;
    this.isDown = !passed;
    return true;
  }

  get state(): AddressState {
    if (this.isDown) return 'down';
    return this.ejectionsInRow > 0 ? 'ejected' : 'healthy';
  }

  private ejectionMs(): number {
    const { ejectMs, maxEjectMs } = this.passive!;
    return Math.min(maxEjectMs, ejectMs * 2 ** Math.min(MOST_DOUBLINGS, Math.max(0, this.ejectionsInRow - 1)));
  }
}

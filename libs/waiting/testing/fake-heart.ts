import type { Heart } from '../src/running-time.js';

/** Beats when a test says so. */
export class FakeHeart implements Heart {
  private nowMs = 0;
  private usedMs = 0;
  /** How often it was asked what the process has used. */
  asked = 0;
  private beat: (() => void) | undefined;

  readonly now = (): number => this.nowMs;

  readonly used = (): number => {
    this.asked++;
    return this.usedMs;
  };

  /** Of the beat that is wanted: in how many milliseconds. */
  wantedInMs = 0;

  readonly beatAfter = (ms: number, beat: () => void): void => {
    if (this.beat) throw new Error('one beat at a time');
    this.wantedInMs = ms;
    this.beat = beat;
  };

  /** Whether a beat is wanted. */
  get beating(): boolean {
    return this.beat !== undefined;
  }

  /** So much time passes between two beats. */
  elapse(ms: number): void {
    this.nowMs += ms;
    this.usedMs += ms;
  }

  /** So much time passes, in which the process computed unless told otherwise; then comes the next beat, if one is wanted. */
  pass(ms: number, usedMs = ms): void {
    this.nowMs += ms;
    this.usedMs += usedMs;
    const { beat } = this;
    this.beat = undefined;
    beat?.();
  }
}

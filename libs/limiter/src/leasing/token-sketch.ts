import { textHash } from '../text-hash.js';

/** Bytes of the table for which there is one counter. */
const BYTES_FOR_A_COUNTER = 64;
const FEWEST_COUNTERS = 1024;
const MOST_COUNTED = 255;

/**
 * About how many tokens of each bucket were taken lately, in a fixed number of bytes: a count-min sketch (Cormode, Muthukrishnan 2005) of two rows, which is
 * cleared after each period. It never says too little of a period. So a bucket that comes now and then costs no record, and pushes none out.
 */
export class TokenSketch {
  private readonly rows: readonly [Uint8Array, Uint8Array];
  private readonly mask: number;
  private clearAtMs = -Infinity;

  /** @param tableBytes of what it stands before. @param periodMs milliseconds */
  constructor(
    tableBytes: number,
    private readonly periodMs: number,
  ) {
    const counters = 2 ** Math.ceil(Math.log2(Math.max(FEWEST_COUNTERS, tableBytes / BYTES_FOR_A_COUNTER / 2)));
    this.rows = [new Uint8Array(counters), new Uint8Array(counters)];
    this.mask = counters - 1;
  }

  /** @param nowMs of a clock that is never set. @returns the tokens of this key in this period, or more; at most 255 */
  count(key: string, tokens: number, nowMs: number): number {
    if (nowMs >= this.clearAtMs) {
      for (const row of this.rows) row.fill(0);
      this.clearAtMs = nowMs + this.periodMs;
    }
    const [first, second] = this.rows;
    const hash = textHash(key);
    const at = hash & this.mask;
    // The bits that the first place leaves out come first.
    const other = ((Math.imul(hash, 0x9e3779b1) >>> 0) >>> 12) & this.mask;
    const counted = Math.min(MOST_COUNTED, Math.min(first[at]!, second[other]!) + tokens);
    // Only as far as needed: what else counts there is not made more than it is.
    if (first[at]! < counted) first[at] = counted;
    if (second[other]! < counted) second[other] = counted;
    return counted;
  }
}

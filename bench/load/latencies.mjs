/** Counts latencies in buckets of 1 % width, in constant time and memory. */

const SMALLEST_MS = 0.001;
const WIDTH = Math.log(1.01);

export class Latencies {
  /** 1.01 ** 2500 * 1 us is more than a day. */
  #counts = new Uint32Array(2500);
  count = 0;

  /** @param {number} ms */
  add(ms) {
    const bucket = ms <= SMALLEST_MS ? 0 : Math.min(2499, (Math.log(ms / SMALLEST_MS) / WIDTH) | 0);
    this.#counts[bucket] = /** @type {number} */ (this.#counts[bucket]) + 1;
    this.count++;
  }

  /** @param {number} q 0 to 1 @returns {number} milliseconds, within 1 % */
  quantile(q) {
    let left = this.count * q;
    for (let bucket = 0; bucket < this.#counts.length; bucket++) {
      left -= /** @type {number} */ (this.#counts[bucket]);
      if (left <= 0) return SMALLEST_MS * 1.01 ** (bucket + 0.5);
    }
    return Infinity;
  }
}

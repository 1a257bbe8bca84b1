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

  /** What was counted, for `together`. @returns {[bucket: number, count: number][]} */
  counts() {
    return Array.from(this.#counts, (count, bucket) => /** @type {[number, number]} */ ([bucket, count])).filter(([, count]) => count > 0);
  }

  /** @param {[bucket: number, count: number][][]} several what others have counted */
  static together(several) {
    const all = new Latencies();
    for (const [bucket, count] of several.flat()) {
      all.#counts[bucket] = /** @type {number} */ (all.#counts[bucket]) + count;
      all.count += count;
    }
    return all;
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

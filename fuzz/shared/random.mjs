/** Numbers that look random and follow from a seed. */
export class Random {
  #state;

  /** @param {number} seed a whole number of 32 bits */
  constructor(seed) {
    this.#state = seed >>> 0;
  }

  /** From 0 to below 1 (mulberry32, Tommy Ettinger). */
  next() {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  }

  /** A whole number from 0 to below `below`. @param {number} below */
  below(below) {
    return Math.floor(this.next() * below);
  }

  /** @param {number} probability */
  chance(probability) {
    return this.next() < probability;
  }

  /** @template T @param {readonly T[]} all @returns {T} */
  of(all) {
    return /** @type {T} */ (all[this.below(all.length)]);
  }
}

/** The seed of a case: each can be repeated without those before it. @param {number} seed @param {number} number */
export function seedOf(seed, number) {
  return (Math.imul(seed, 0x9e3779b1) + Math.imul(number, 0x85ebca6b)) >>> 0;
}

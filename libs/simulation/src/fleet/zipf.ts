import type { Random } from '../random.js';

/** How often each of so many is asked: the k-th is asked 1 / k^exponent as often as the first. */
export class Zipf {
  private readonly upTo: Float64Array;

  constructor(
    readonly size: number,
    exponent: number,
  ) {
    this.upTo = new Float64Array(size);
    let sum = 0;
    for (let i = 0; i < size; i++) this.upTo[i] = sum += (i + 1) ** -exponent;
    for (let i = 0; i < size; i++) this.upTo[i]! /= sum;
  }

  /** The share of all that one is asked. */
  share(index: number): number {
    return this.upTo[index]! - (index === 0 ? 0 : this.upTo[index - 1]!);
  }

  /** One of them, from 0. */
  next(random: Random): number {
    const at = random.next();
    let [low, high] = [0, this.size - 1];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.upTo[middle]! <= at) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

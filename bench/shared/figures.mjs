/** Interleaved rounds, and the figures that come out of them. */

/**
 * @typedef {object} Figure
 * @property {string} name
 * @property {string} unit '' for a ratio
 * @property {{ atLeast: number } | { atMost: number } | undefined} goal
 * @property {number} median
 * @property {number} min
 * @property {number} max
 * @property {boolean | undefined} reached undefined without a goal
 * @property {number[]} rounds
 * @property {Record<string, unknown>} details what the figure was made of, and what else was seen
 */

/**
 * @param {string} name
 * @param {number[]} rounds
 * @param {{ unit?: string, goal?: Figure['goal'], details?: Record<string, unknown> }} [options]
 * @returns {Figure}
 */
export function figure(name, rounds, { unit = '', goal, details = {} } = {}) {
  const middle = median(rounds);
  const reached = goal === undefined ? undefined : 'atLeast' in goal ? middle >= goal.atLeast : middle <= goal.atMost;
  return { name, unit, goal, median: middle, min: Math.min(...rounds), max: Math.max(...rounds), reached, rounds, details };
}

/**
 * Measures the sides in turn, A B C A B C ..., so that whatever slows the machine for a while slows all of them.
 * @template T
 * @param {number} rounds
 * @param {Record<string, () => Promise<T>>} sides
 * @param {(side: string, round: number, result: T) => void} [onResult]
 * @returns {Promise<Record<string, T[]>>}
 */
export async function interleaved(rounds, sides, onResult = () => {}) {
  /** @type {Record<string, T[]>} */
  const results = Object.fromEntries(Object.keys(sides).map((side) => [side, []]));
  for (let round = 1; round <= rounds; round++) {
    for (const [side, measure] of Object.entries(sides)) {
      const result = await measure();
      /** @type {T[]} */ (results[side]).push(result);
      onResult(side, round, result);
    }
  }
  return results;
}

/**
 * Round by round, so that each ratio compares neighbours in time.
 * @param {number[]} ours
 * @param {number[]} theirs
 */
export function ratios(ours, theirs) {
  return ours.map((value, i) => value / /** @type {number} */ (theirs[i]));
}

/** @param {number[]} values */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const [lower = NaN, upper = NaN] = [sorted[sorted.length % 2 === 1 ? middle : middle - 1], sorted[middle]];
  return (lower + upper) / 2;
}

/** @param {number} perSecond */
export function rate(perSecond) {
  return perSecond >= 1e5
    ? `${Math.round(perSecond / 1000)} k/s`
    : perSecond >= 1e3
      ? `${(perSecond / 1000).toFixed(1)} k/s`
      : `${Math.round(perSecond)} /s`;
}

/** @param {number} bytes */
export const megabytes = (bytes) => `${(bytes / 2 ** 20).toFixed(0)} MB`;

/** Values that were measured by turns, each beside what was measured just before and just behind it: so that what the machine does for a while meets both. */
import { median } from './figures.mjs';

const RESAMPLES = 2000;
const CONFIDENCE = 0.95;
const BLOCK = 4;

/**
 * The median of ratios, and between what it lies by chance, with 95 %: a bootstrap that draws several in a row, because neighbours have a turn
 * in common.
 * @param {readonly number[]} ratios in the order of time
 */
export function withInterval(ratios) {
  const random = seeded();
  const resample = () => {
    const blocks = Array.from({ length: Math.ceil(ratios.length / BLOCK) }, () => Math.trunc(random() * ratios.length));
    const drawn = blocks.flatMap((first) =>
      Array.from({ length: BLOCK }, (_, i) => /** @type {number} */ (ratios[(first + i) % ratios.length])),
    );
    return median(drawn.slice(0, ratios.length));
  };
  const medians = Array.from({ length: RESAMPLES }, resample).sort((a, b) => a - b);
  const at = (/** @type {number} */ share) => medians[Math.trunc(share * RESAMPLES)] ?? NaN;
  return { ratios, from: at((1 - CONFIDENCE) / 2), to: at((1 + CONFIDENCE) / 2) };
}

/**
 * Each turn of one kind against the geometric mean of the two of the other kind around it: so that of turns of one kind as many ratios are
 * above 1 as below.
 * @param {readonly number[]} turns what was measured of the two kinds in turn; the first and the last are of the other kind
 */
export function besideNeighbours(turns) {
  return turns.flatMap((turn, i) => {
    const [before, behind] = [turns[i - 1], turns[i + 1]];
    return i % 2 === 1 && before !== undefined && behind !== undefined ? [turn / Math.sqrt(before * behind)] : [];
  });
}

/** The same numbers in each run, so that one set of ratios has one interval (mulberry32). */
function seeded() {
  let state = 1;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

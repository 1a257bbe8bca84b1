/** Attempts of one delivery; the last is made about a day after the first. */
export const MAX_ATTEMPTS = 10;

const FIRST_MS = 5_000;
const FACTOR = 4;
const LONGEST_MS = 8 * 3_600_000;

/**
 * How long to wait before the next attempt, in milliseconds: four times as long each time, and by chance up to half of it less, so that deliveries which
 * failed together do not come back together.
 * @param attempts that failed so far, from 1
 * @param random from 0 up to 1
 */
export function backOffMs(attempts: number, random: number): number {
  const longest = Math.min(LONGEST_MS, FIRST_MS * FACTOR ** (attempts - 1));
  return Math.round(longest * (1 - random / 2));
}

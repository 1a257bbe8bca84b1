/** How long answers take while a server has half of what it can bear. */
import { rate } from './figures.mjs';
import { perBusySecond } from './http-bed.mjs';

/** @typedef {import('./http-bed.mjs').LoadResult} LoadResult */

/**
 * @param {LoadResult[]} full what it bears, in the same run
 * @param {number} rounds
 * @param {(line: string) => void} say
 * @param {(perSecond: number) => Promise<LoadResult>} measure
 * @returns {Promise<number[]>} p99 in milliseconds, by rounds
 */
export async function halfLoad(full, rounds, say, measure) {
  const borne = full.map(perBusySecond).sort((a, b) => a - b);
  const perSecond = Math.round((borne[borne.length >> 1] ?? 0) / 2);
  const p99s = [];
  for (let round = 1; round <= rounds; round++) {
    const { p99Ms, lateP50Ms = NaN, lateP99Ms = NaN, busy, serverBusy = NaN, perSecond: answered } = await measure(perSecond);
    say(
      `round ${round}: half load ${rate(answered)} of ${rate(perSecond)}, p99 ${p99Ms.toFixed(2)} ms; the generator itself late by ${lateP50Ms.toFixed(2)} ms, at p99 ${lateP99Ms.toFixed(2)}; server ${percent(serverBusy)}, load ${percent(busy)} busy`,
    );
    p99s.push(p99Ms);
  }
  return p99s;
}

const percent = (/** @type {number} */ share) => `${Math.round(share * 100)} %`;

/** When requests are made: as often as they are answered, or at a steady rate. */

import { Latencies } from './latencies.mjs';

/** How much later than it was due each request was asked: the generator may not get its core, and then asks several at once. */
let lateness = new Latencies();

/** Forgets what was late until now. */
export function forgetLateness() {
  lateness = new Latencies();
}

/** In milliseconds; undefined where no rate was to be kept. @param {number} q 0 to 1 */
export const latenessAt = (q) => (lateness.count > 0 ? lateness.quantile(q) : undefined);

/**
 * @param {{ perSecond?: number, most: number, isOver: () => boolean }} settings most: what could not be asked in time, and is more than so many, is not made up for
 * @returns {(ask: () => void) => void} asks when it is time for it
 */
export function inTurn({ perSecond = Infinity, most, isOver }) {
  if (perSecond === Infinity) return (ask) => ask();
  /** Who waits until the next request is due. @type {(() => void)[]} */
  const waiting = [];
  let asked = 0;
  const startedAt = performance.now();
  setInterval(() => {
    const due = ((performance.now() - startedAt) / 1000) * perSecond;
    const count = isOver() ? 0 : Math.min(waiting.length, Math.max(0, Math.floor(due) - asked));
    for (let i = 1; i <= count; i++) lateness.add(((due - asked - i) * 1000) / perSecond);
    asked += count;
    for (const ask of waiting.splice(0, count)) ask();
    asked = Math.max(asked, Math.floor(due) - most);
  }, 1);
  return (ask) => void waiting.push(ask);
}

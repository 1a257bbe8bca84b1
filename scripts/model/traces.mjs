/** Traces of the model as rows that are replayed on the stores: what gateways say to the store, when, and what it answers. */

/** @typedef {{ do: string, by?: number, late?: number, holds?: number, givesBack?: number, wants?: number, granted?: number, left?: number, elsewhere?: number, passes?: number }} Event */

const CAPACITY = /^CAPACITY=(\d+)$/;
const MOST_STEPS = 60;

/**
 * @param {{ id: string, title: string, defines: string[] }} row
 * @param {string[]} printed lines of JSON
 */
export function traceOf({ id, title, defines }, printed) {
  /** @type {Map<number | undefined, number>} */
  const calls = new Map();
  let lateCall = 0;
  let tick = 0;
  const steps = [];
  for (const line of printed) {
    /** @type {Event} */
    const { do: what, late, ...event } = JSON.parse(line);
    const sequence = calls.get(event.by) ?? 0;
    if (what === 'call') calls.set(event.by, sequence + 1);
    else if (what === 'giveUp') lateCall = sequence;
    else if (what === 'tick') steps.push({ at: ++tick, do: 'look', ...event });
    else steps.push({ at: tick, do: what, ...event, ...(what === 'lend' && { sequence: late ? lateCall : sequence }) });
  }
  const capacity = defines.map((define) => CAPACITY.exec(define)?.[1]).find(Boolean) ?? '4';
  return { id, title, capacity: Number(capacity), steps: steps.slice(0, MOST_STEPS) };
}

/** What merchants notice of a flood, beside as many requests of other merchants: the two take turns within one run. */
import { join } from 'node:path';
import { ROOT } from '../../scripts/paths.mjs';
import { median } from './figures.mjs';
import { load } from './http-bed.mjs';

/**
 * The gateway is at half of what it can answer, always: the merchants that are measured ask for three quarters of that, and a second stream for the rest, in one
 * turn of other merchants and in the next of the flood.
 */
const MEASURED = 0.375;
const SECOND_STREAM = 0.125;
const STREAM_CONNECTIONS = 32;

/** So short that what else happens on the machine meets both; so long that what a turn leaves behind is over before it is judged. */
const TURN_SECONDS = 3;
const SETTLING_SECONDS = 1;
/** Ten million keys take half an hour on a quiet machine, and several times that beside other work. */
const LONGEST_FLOOD_MS = 6 * 3_600_000;

/** @typedef {import('./http-bed.mjs').Server} Server */
/** @typedef {{ answered: number, seconds: number, statuses: Record<string, number> }} Flooded */

/**
 * How often both streams ask.
 * @param {import('../run.mjs').Bench} bench
 * @param {Server} server
 * @param {string[]} merchants
 */
export async function halfOf({ workshop, seconds, warmupSeconds, quick }, server, merchants) {
  const { perSecond } = await load(workshop, server, { merchants, seconds, warmupSeconds, limited: true, quick });
  return { most: perSecond, measured: Math.round(perSecond * MEASURED), stream: Math.round(perSecond * SECOND_STREAM) };
}

/**
 * @param {import('./workshop.mjs').Workshop} workshop
 * @param {Server} server
 * @param {object} settings of unknown-load.mjs, besides what is the same for all
 * @returns {{ job: import('./workshop.mjs').Job, flooded: Promise<Flooded> }}
 */
export function secondStream(workshop, server, settings) {
  const job = workshop.node(join(ROOT, 'bench', 'load', 'unknown-load.mjs'), {
    args: [JSON.stringify({ port: server.port, connections: STREAM_CONNECTIONS, turnMs: TURN_SECONDS * 1000, ...settings })],
  });
  return { job, flooded: job.line((line) => line.startsWith('{'), LONGEST_FLOOD_MS).then((line) => JSON.parse(line)) };
}

/** How long the flood is on in `besideAFlood`, and a turn more, so that it does not run out in the last one. @param {number} rounds */
export const secondsOfTurns = (rounds) => (2 * rounds + 1) * TURN_SECONDS;

/** No more turns: what is left of the flood, if anything, comes as fast as it is answered. @param {import('./workshop.mjs').Job} job */
export function asFastAsItCan({ pid }) {
  try {
    process.kill(pid, 'SIGUSR1');
  } catch (error) {
    // It has asked for all, and has ended.
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ESRCH') throw error;
  }
}

/**
 * p99 of the merchants in the seconds of each turn but the first, their median; and of each turn of the flood against the two quiet ones beside it.
 * @param {import('../run.mjs').Bench} bench
 * @param {Server} server
 * @param {string[]} merchants
 * @param {number} perSecond
 * @param {import('./workshop.mjs').Job} stream whose turns begin now
 */
export async function besideAFlood({ workshop, rounds, warmupSeconds, quick }, server, merchants, perSecond, stream) {
  const floods = quick ? 1 : 2 * rounds;
  const { p99MsBySecond } = await load(workshop, server, {
    merchants,
    seconds: (2 * floods + 1) * TURN_SECONDS,
    warmupSeconds,
    perSecond,
    limited: true,
    quick,
    onMeasuring: () => void process.kill(stream.pid, 'SIGUSR2'),
  });
  const p99OfTurn = (/** @type {number} */ turn) =>
    median(p99MsBySecond.slice(turn * TURN_SECONDS + SETTLING_SECONDS, (turn + 1) * TURN_SECONDS));
  const quietMs = Array.from({ length: floods + 1 }, (_, i) => p99OfTurn(2 * i));
  const floodedMs = Array.from({ length: floods }, (_, i) => p99OfTurn(2 * i + 1));
  return { quietMs, floodedMs, ratios: floodedMs.map((ms, i) => ms / median(quietMs.slice(i, i + 2))) };
}

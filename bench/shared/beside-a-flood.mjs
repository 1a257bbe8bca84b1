/** What merchants notice of a flood, beside as many requests of other merchants: the two take turns within one run. */
import { join } from 'node:path';
import { ROOT } from '../../scripts/paths.mjs';
import { Latencies } from '../load/latencies.mjs';
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
/** Turns of the flood. */
const FLOODS_A_ROUND = 4;
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
export const secondsOfTurns = (rounds) => (2 * FLOODS_A_ROUND * rounds + 1) * TURN_SECONDS;

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
 * p99 of the merchants over all turns of the flood together, against that over all quiet ones; the first second of each turn does not count. One turn has so few slow answers that a single moment of the machine decides about its p99.
 * How much the machine alone makes of such a ratio is told beside it: the quiet turns of even number against the others.
 * @param {import('../run.mjs').Bench} bench
 * @param {Server} server
 * @param {string[]} merchants
 * @param {number} perSecond
 * @param {import('./workshop.mjs').Job} stream whose turns begin now
 */
export async function besideAFlood({ workshop, rounds, warmupSeconds, quick }, server, merchants, perSecond, stream) {
  const floods = quick ? 2 : FLOODS_A_ROUND * rounds;
  const { countsBySecond = [] } = await load(workshop, server, {
    merchants,
    seconds: (2 * floods + 1) * TURN_SECONDS,
    warmupSeconds,
    perSecond,
    limited: true,
    quick,
    tellsCounts: true,
    onMeasuring: () => void process.kill(stream.pid, 'SIGUSR2'),
  });
  const secondsOf = (/** @type {number} */ turn) => countsBySecond.slice(turn * TURN_SECONDS + SETTLING_SECONDS, (turn + 1) * TURN_SECONDS);
  const p99Of = (/** @type {number[]} */ turns) => Latencies.together(turns.flatMap(secondsOf)).quantile(0.99);
  const quiet = Array.from({ length: floods + 1 }, (_, i) => 2 * i);
  const flooded = quiet.slice(0, floods).map((turn) => turn + 1);
  const [quietMs, floodedMs] = [p99Of(quiet), p99Of(flooded)];
  const half = (/** @type {number} */ which) => p99Of(quiet.filter((_, i) => i % 2 === which));
  return {
    quietMs,
    floodedMs,
    ratio: floodedMs / quietMs,
    noise: half(0) / half(1),
    turnsMs: [...quiet, ...flooded].sort((a, b) => a - b).map((turn) => p99Of([turn])),
  };
}

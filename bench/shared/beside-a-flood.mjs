/** What merchants notice of a flood, beside as many requests of other merchants: the two take turns within one run. */
import { join } from 'node:path';
import { ROOT } from '../../scripts/paths.mjs';
import { Latencies } from '../load/latencies.mjs';
import { figure } from './figures.mjs';
import { load } from './http-bed.mjs';
import { besideNeighbours, withInterval } from './paired.mjs';

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
const FLOODS_A_ROUND = 8;
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
 * p99 of the merchants in each turn of the flood, against that of the two quiet turns around it; the first second of a turn does not count. A
 * turn has so few slow answers that a single moment of the machine decides about its p99, so there are many turns, and their median is the
 * result, with the interval in which it lies by chance. How much the machine alone makes of such a ratio is told beside it: the same of quiet
 * turns, each against the quiet turns around it.
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
  const p99Of = (/** @type {readonly number[]} */ turns) => Latencies.together(turns.flatMap(secondsOf)).quantile(0.99);
  const turns = Array.from({ length: 2 * floods + 1 }, (_, turn) => turn);
  const turnsMs = turns.map((turn) => p99Of([turn]));
  return {
    quietMs: p99Of(turns.filter((turn) => turn % 2 === 0)),
    floodedMs: p99Of(turns.filter((turn) => turn % 2 === 1)),
    flood: withInterval(besideNeighbours(turnsMs)),
    noise: withInterval(besideNeighbours(turnsMs.filter((_, turn) => turn % 2 === 0))),
    turnsMs,
  };
}

/**
 * The figures of it. The goal is met or missed by the median; where the goal lies within the interval, more turns would tell (`--rounds`).
 * @param {string} name
 * @param {Awaited<ReturnType<typeof besideAFlood>>} measured
 */
export function floodFigures(name, { flood, noise, quietMs, floodedMs, turnsMs }) {
  return [
    figure(name, [...flood.ratios], { goal: { atMost: 1.1 }, details: { quietMs, floodedMs, turnsMs, interval: [flood.from, flood.to] } }),
    figure('    that median, with 95 % between', [flood.from, flood.to]),
    figure('    the same of quiet turns, against quiet turns', [...noise.ratios], { details: { interval: [noise.from, noise.to] } }),
    figure('    that median, with 95 % between', [noise.from, noise.to]),
  ];
}

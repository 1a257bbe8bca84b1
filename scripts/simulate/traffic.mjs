/** The traffic of a run, from a pattern or a file, and what is said of it under every chart. */
import { readFileSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { Refusal } from '../command-line.mjs';

/** @typedef {typeof import('../../libs/simulation/src/index.ts')} Simulation */
/** @typedef {import('../../libs/simulation/src/index.ts').Arrival} Arrival */

const MAX_CSV_BYTES = 256 * 1024 * 1024;

/**
 * @param {Simulation} simulation
 * @param {import('./options.mjs').SimulateOptions} options
 * @param {number} [seconds] other than the options say
 * @returns {Arrival[]}
 * @throws {Refusal}
 */
export function arrivalsOf(simulation, { csv, pattern, seed, keys, load, bound, seconds: asked }, seconds = asked) {
  if (csv !== undefined) return fromCsv(simulation, csv);
  const arrivals = [
    ...simulation.traffic(/** @type {import('../../libs/simulation/src/index.ts').PatternName} */ (pattern), {
      seed,
      seconds,
      ratePerSecond: (load * bound.limit * 1000) / bound.windowMs,
      keys: Array.from({ length: keys }, (_, index) => `merchant-${index + 1}`),
      ...bound,
    }),
  ];
  if (arrivals.length === 0)
    throw new Refusal('No request falls into this time: give more --seconds, --load or --keys, or a shorter window.');
  return arrivals;
}

/**
 * @param {Simulation} simulation
 * @param {string} file
 */
function fromCsv({ arrivalsFromCsv, CsvTrafficError }, file) {
  const stat = statSync(file);
  if (!stat.isFile()) throw new Refusal(`${file} is no file.`);
  if (stat.size > MAX_CSV_BYTES) throw new Refusal(`${file} is larger than ${MAX_CSV_BYTES / 1024 / 1024} MB.`);
  try {
    return arrivalsFromCsv(readFileSync(file, 'utf8'));
  } catch (error) {
    if (error instanceof CsvTrafficError) throw new Refusal(`${file}:\n${error.message}`);
    throw error;
  }
}

/** @param {import('./options.mjs').SimulateOptions} options @param {readonly Arrival[]} arrivals */
export function describe({ csv, pattern, seed, bound }, arrivals) {
  const seconds = Math.ceil((arrivals.at(-1)?.atMs ?? 0) / 1000).toLocaleString('en');
  const from = csv === undefined ? `${pattern} traffic, seed ${seed}` : basename(csv);
  return `${from}: ${arrivals.length.toLocaleString('en')} requests in ${seconds} s; ${bound.limit.toLocaleString('en')} in ${bound.windowMs.toLocaleString('en')} ms for each key`;
}

/** The command line of `npm run simulate`, read and validated once. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { HELP_FLAG, parsedArguments, Refusal, TEXT } from '../command-line.mjs';
import { dataDirOf } from '../paths.mjs';

/** What there is to choose from: the library knows. @typedef {{ patterns: readonly string[], algorithms: readonly string[], topologies: readonly string[] }} Offer */

export const WHATS = /** @type {const} */ (['algorithms', 'topologies']);

/** @typedef {(typeof WHATS)[number]} What */

/** Requests that a run keeps in memory and replays in about a minute. */
const MOST_REQUESTS = 2_000_000;

/** Of a simulation of topologies: a thousand nodes that each know of each key what a thousand nodes have spent. */
export const MOST_TOPOLOGY_KEYS = 32;

/** What differs between the two simulations: the texts' 100 a minute, and a burst that nodes must hear of in time. */
const DEFAULTS = {
  algorithms: { pattern: 'bursty', limit: 100, windowMs: 60_000, seconds: 1800, keys: 3 },
  topologies: { pattern: 'bursty', limit: 100, windowMs: 1000, seconds: 30, keys: 8 },
};

/** @param {Offer} offer */
export const helpOf = ({ patterns, algorithms, topologies }) => `npm run simulate -- algorithms|topologies [options]

Replays traffic through algorithms or topologies that all have the same bound, without sleeping, and writes a table,
SVG charts and JSON. The same options give the same figures and charts, but for the measured cost of a decision.

  algorithms   against the perfect sliding log: error, worst over-admission, memory a key, cost of a decision
  topologies   against one bucket that sees everything: over- and under-admission, messages, up to 1,000 nodes

Traffic:
  --pattern NAME     ${patterns.join(', ')}; ${DEFAULTS.algorithms.pattern} by default
  --csv FILE         instead: a heading and the columns timestamp (milliseconds or ISO 8601), key, cost
  --seed N           0 to 4294967295; 1 by default
  --seconds N        length of the traffic, 1 to 1000000; ${DEFAULTS.algorithms.seconds} by default, ${DEFAULTS.topologies.seconds} for topologies
  --keys N           merchants with a bucket each, 1 to 1000, 3 by default; for topologies 1 to ${MOST_TOPOLOGY_KEYS}, ${DEFAULTS.topologies.keys} by default
  --load X           requests, as a multiple of what the bound allows on average, 0.01 to 100; 1.5 by default

Bound, the same for all:
  --limit N          tokens in a window, 1 to 1000000; ${DEFAULTS.algorithms.limit} by default
  --window-ms N      1 to 2678400000; ${DEFAULTS.algorithms.windowMs} by default, ${DEFAULTS.topologies.windowMs} for topologies

What is compared:
  --algorithms A,B   ${wrapped(algorithms)}; all by default
  --topologies A,B   ${wrapped(topologies)}; all by default
  --nodes N          of each topology, 1 to 1000; 4 by default. Half of them join in the middle of the run
  --latency-ms X     of a message, one way, 0.01 to 10000; 1 by default

  --out DIR          where charts and JSON go; simulation in the data directory (TOLLGATE_DATA_DIR, .tollgate) by default
  --help             this text

docs/algorithms.md explains the figures. Exit code: 0 if all is well, 2 if there was no run.`;

/** @param {readonly string[]} names */
function wrapped(names) {
  const lines = [''];
  for (const name of names) {
    const line = lines.at(-1) ?? '';
    if (line.length + name.length > 90) lines.push(name);
    else lines[lines.length - 1] = line ? `${line}, ${name}` : name;
  }
  return lines.join(`,\n${' '.repeat(21)}`);
}

const OPTIONS = {
  pattern: TEXT,
  csv: TEXT,
  seed: TEXT,
  seconds: TEXT,
  keys: TEXT,
  load: TEXT,
  limit: TEXT,
  'window-ms': TEXT,
  algorithms: TEXT,
  topologies: TEXT,
  nodes: TEXT,
  'latency-ms': TEXT,
  out: TEXT,
  help: HELP_FLAG,
};

/**
 * @typedef {object} SimulateOptions
 * @property {What} what
 * @property {string} pattern
 * @property {string | undefined} csv a file, instead of a pattern
 * @property {number} seed
 * @property {number} seconds
 * @property {number} keys
 * @property {number} load requests for each that is allowed, on average
 * @property {import('../../libs/simulation/src/bound.ts').Bound} bound
 * @property {string[]} algorithms
 * @property {string[]} topologies
 * @property {number} nodes
 * @property {number} latencyMs
 * @property {string} out a directory, absolute
 */

/**
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} env
 * @param {Offer} offer
 * @returns {SimulateOptions | 'help'}
 * @throws {Refusal} that names every fault
 */
export function readOptions(args, env, offer) {
  const { values, positionals } = parsedArguments(args, OPTIONS);
  if (values.help) return 'help';
  /** @type {string[]} */
  const faults = [];
  const what = WHATS.find((one) => one === positionals[0]);
  if (what === undefined || positionals.length > 1)
    faults.push(`Say what to simulate: ${WHATS.join(' or ')}; got ${positionals.join(' ') || 'nothing'}.`);
  const defaults = DEFAULTS[what ?? 'algorithms'];

  const number = numbers(faults);
  const pattern = values.pattern ?? defaults.pattern;
  if (!offer.patterns.includes(pattern)) faults.push(`--pattern must be one of ${offer.patterns.join(', ')}; got ${pattern || 'nothing'}.`);
  refuseBeside(values, 'csv', ['pattern', 'seconds', 'keys', 'load'], 'the file says what comes when', faults);
  if (values.csv !== undefined && !existsSync(values.csv)) faults.push(`--csv must be a file; there is no ${values.csv || 'name'}.`);
  for (const [other, of] of /** @type {const} */ ([
    ['algorithms', 'topologies'],
    ['topologies', 'algorithms'],
    ['nodes', 'algorithms'],
    ['latency-ms', 'algorithms'],
  ])) {
    if (what === of && values[other] !== undefined) faults.push(`--${other} means nothing to ${of}.`);
  }

  const options = {
    what: what ?? 'algorithms',
    pattern,
    csv: values.csv,
    seed: number('--seed', values.seed ?? '1', 0, 2 ** 32 - 1),
    seconds: number('--seconds', values.seconds ?? String(defaults.seconds), 1, 1_000_000),
    keys: number('--keys', values.keys ?? String(defaults.keys), 1, what === 'topologies' ? MOST_TOPOLOGY_KEYS : 1000),
    load: number('--load', values.load ?? '1.5', 0.01, 100, false),
    bound: {
      limit: number('--limit', values.limit ?? String(defaults.limit), 1, 1_000_000),
      windowMs: number('--window-ms', values['window-ms'] ?? String(defaults.windowMs), 1, 31 * 86_400_000),
    },
    algorithms: list('--algorithms', values.algorithms, offer.algorithms, faults),
    topologies: list('--topologies', values.topologies, offer.topologies, faults),
    nodes: number('--nodes', values.nodes ?? '4', 1, 1000),
    latencyMs: number('--latency-ms', values['latency-ms'] ?? '1', 0.01, 10_000, false),
    out: values.out === undefined ? join(dataDirOf(env), 'simulation') : resolve(values.out),
  };
  if (values.out === '') faults.push('--out must be a directory; got nothing.');
  if (faults.length === 0) refuseEndless(options, faults);
  if (faults.length > 0) throw new Refusal(faults.join('\n'));
  return options;
}

/**
 * Reads numbers and notes the faults. A number that is no such is the smallest one, so that reading can go on.
 * @param {string[]} faults
 */
function numbers(faults) {
  return (/** @type {string} */ name, /** @type {string} */ text, /** @type {number} */ min, /** @type {number} */ max, whole = true) => {
    const value = (whole ? /^\d{1,12}$/ : /^\d{1,9}(\.\d{1,6})?$/).test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    faults.push(`${name} must be a ${whole ? 'whole ' : ''}number from ${min} to ${max}; got ${text || 'nothing'}.`);
    return min;
  };
}

/**
 * @param {string} name
 * @param {string | undefined} text names with commas between
 * @param {readonly string[]} offered
 * @param {string[]} faults
 */
function list(name, text, offered, faults) {
  if (text === undefined) return [...offered];
  const names = [
    ...new Set(
      text
        .split(',')
        .map((one) => one.trim())
        .filter(Boolean),
    ),
  ];
  const unknown = names.filter((one) => !offered.includes(one));
  if (names.length === 0 || unknown.length > 0)
    faults.push(`${name} must be of ${offered.join(', ')}; got ${unknown.join(', ') || 'nothing'}.`);
  return names;
}

/**
 * @param {Record<string, string | boolean | undefined>} values
 * @param {string} chosen
 * @param {string[]} others
 * @param {string} why
 * @param {string[]} faults
 */
function refuseBeside(values, chosen, others, why, faults) {
  if (values[chosen] === undefined) return;
  const beside = others.filter((other) => values[other] !== undefined);
  if (beside.length > 0) faults.push(`--${chosen} goes without ${beside.map((other) => `--${other}`).join(', ')}: ${why}.`);
}

/**
 * @param {SimulateOptions} options
 * @param {string[]} faults
 */
function refuseEndless({ csv, seconds, keys, load, bound }, faults) {
  const requests = (seconds * 1000 * keys * load * bound.limit) / bound.windowMs;
  if (csv === undefined && requests > MOST_REQUESTS) {
    faults.push(
      `That would be ${Math.round(requests).toLocaleString('en')} requests; at most ${MOST_REQUESTS.toLocaleString('en')}: take less of --seconds, --keys, --load or --limit.`,
    );
  }
}

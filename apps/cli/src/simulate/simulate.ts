import { Option } from '@commander-js/extra-typings';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { ALGORITHMS, PATTERN_NAMES, PUBLISHED_COSTS, TOPOLOGIES } from '#simulation';
import { dataDirOf } from '#scripts/paths.mjs';
import { afterHelp, newCommand } from '../shared/command.js';
import { notStarted } from '../shared/command-error.js';
import { decimal, Faults, oneOf, someOf, wholeNumber } from '../shared/options.js';
import { count, print } from '../shared/output.js';
import { simulateAlgorithms } from './algorithms.js';
import { MOST_DECISIONS, simulateFleet } from './fleet.js';
import type { Report } from './report.js';
import { MAX_TOPOLOGY_KEYS, simulateTopologies } from './topologies.js';
import type { TrafficOptions } from './traffic.js';

const MAX_WINDOW_MS = 31 * 86_400_000;

/** Requests that a run keeps in memory and replays in about a minute. */
const MAX_REQUESTS = 2_000_000;

export function command() {
  return newCommand('simulate', 'Replays traffic in virtual time, and writes a table, SVG charts and JSON.')
    .addCommand(algorithmsCommand())
    .addCommand(topologiesCommand())
    .addCommand(fleetCommand())
    .addHelpText(
      'after',
      afterHelp(
        ['The same options give the same figures and charts, but for the measured cost of a decision. docs/algorithms.md explains them.'],
        ['npx tollgate simulate algorithms --help', 'npx tollgate simulate topologies --nodes 10 --out charts'],
      ),
    );
}

function algorithmsCommand() {
  const faults = new Faults();
  const names = ALGORITHMS.map(({ name }) => name);
  return trafficCommand('algorithms', ABOUT_ALGORITHMS, { windowMs: 60_000, seconds: 1800, keys: 3, maxKeys: 1000 }, faults)
    .addOption(someOf('--algorithms <names>', names, faults))
    .addHelpText('after', afterHelp([], ['npx tollgate simulate algorithms --csv requests.csv --limit 100 --window-ms 60000']))
    .action(async ({ algorithms, out, ...flags }) => {
      const options = trafficOptions(flags, faults);
      await report('algorithms', out, () => simulateAlgorithms(options, algorithms));
    });
}

function topologiesCommand() {
  const faults = new Faults();
  const names = TOPOLOGIES.map(({ name }) => name);
  return trafficCommand('topologies', ABOUT_TOPOLOGIES, { windowMs: 1000, seconds: 30, keys: 8, maxKeys: MAX_TOPOLOGY_KEYS }, faults)
    .addOption(someOf('--topologies <names>', names, faults))
    .addOption(wholeNumber('--nodes <n>', 'of which half join in the middle of the run', { min: 1, max: 1000, default: 4 }, faults))
    .addOption(decimal('--latency-ms <x>', 'of a message, one way', { min: 0.01, max: 10_000, default: 1 }, faults))
    .addHelpText('after', afterHelp([], ['npx tollgate simulate topologies --pattern poisson --load 0.8']))
    .action(async ({ topologies, nodes, latencyMs, out, ...flags }) => {
      const options = trafficOptions(flags, faults);
      await report('topologies', out, () => simulateTopologies(options, { topologies, nodes, latencyMs }));
    });
}

function fleetCommand() {
  const faults = new Faults();
  const { redisTakeUs, redisLendUs, takeUs } = PUBLISHED_COSTS;
  return newCommand('fleet', ABOUT_FLEET)
    .addOption(wholeNumber('--seed <n>', 'of the random numbers', { min: 0, max: 2 ** 32 - 1, default: 1 }, faults))
    .addOption(wholeNumber('--instances <n>', 'that decide', { min: 1, max: 1000, default: 96 }, faults))
    .addOption(
      wholeNumber(
        '--spread <n>',
        'instances to which the requests of one merchant go, or all',
        { min: 1, max: 1000, default: 1000 },
        faults,
      ),
    )
    .addOption(wholeNumber('--rps <n>', 'decisions a second, of all together', { min: 1, max: 10_000_000, default: 2_000_000 }, faults))
    .addOption(wholeNumber('--merchants <n>', 'with a limit each', { min: 1, max: 1_000_000, default: 100_000 }, faults))
    .addOption(decimal('--exponent <x>', "of Zipf's law: 0 is even", { min: 0, max: 3, default: 1 }, faults))
    .addOption(wholeNumber('--seconds <n>', 'that are counted', { min: 1, max: 600, default: 2 }, faults))
    .addOption(wholeNumber('--horizon-ms <n>', 'of a lease', { min: 100, max: 10_000, default: 1000 }, faults))
    .addOption(decimal('--headroom <x>', 'times its load that each limit allows at least', { min: 0.1, max: 100, default: 2 }, faults))
    .addOption(decimal('--redis-take-us <x>', 'microseconds of Redis for a take', costRange(redisTakeUs), faults))
    .addOption(decimal('--redis-lend-us <x>', 'microseconds of Redis for a report of a lease', costRange(redisLendUs), faults))
    .addOption(decimal('--take-us <x>', 'microseconds of a gateway for a decision by a take', costRange(takeUs), faults))
    .addOption(decimal('--leased-us <x>', 'microseconds of a gateway for a decision from a lease; 0: measured', costRange(0), faults))
    .option('--out <dir>', OUT)
    .addHelpText(
      'after',
      afterHelp([], ['npx tollgate simulate fleet --spread 8', 'npx tollgate simulate fleet --instances 4 --rps 100000']),
    )
    .action(async ({ out, rps, spread, redisTakeUs: redisTake, redisLendUs: redisLend, takeUs: take, leasedUs, ...flags }) => {
      const decisions = rps * (flags.seconds + flags.horizonMs / 1000) * 2;
      if (decisions > MOST_DECISIONS)
        faults.add(
          `That would be ${count(decisions)} decisions; at most ${count(MOST_DECISIONS)}: take less of --rps, --seconds or --horizon-ms.`,
        );
      faults.demandNone();
      const costs = { redisTakeUs: redisTake, redisLendUs: redisLend, takeUs: take, ...(leasedUs > 0 && { leasedUs }) };
      const run = { ...flags, decisionsPerSecond: rps, spread: Math.min(spread, flags.instances), costs };
      await report('fleet', out, () => simulateFleet(run));
    });
}

/** Microseconds of a core. */
const costRange = (standard: number) => ({ min: 0, max: 1_000_000, default: standard });

const ABOUT_FLEET =
  'Compares exact with leased limits in a fleet of instances: takes, reports and calls a second, and the cores that they cost.';
const OUT = 'where charts and JSON go (default: simulation in the data directory, .tollgate)';
const ABOUT_ALGORITHMS = 'Compares algorithms with the perfect sliding log: error, worst over-admission, memory a key, cost of a decision.';
const ABOUT_TOPOLOGIES =
  'Compares topologies with one bucket that sees everything: over- and under-admission, messages, up to 1,000 nodes.';

/** What differs between the simulations: 100 a minute, or a burst that nodes must hear of in time. */
interface Defaults {
  readonly windowMs: number;
  readonly seconds: number;
  readonly keys: number;
  readonly maxKeys: number;
}

function trafficCommand(name: string, about: string, { windowMs, seconds, keys, maxKeys }: Defaults, faults: Faults) {
  return newCommand(name, about)
    .addOption(oneOf('--pattern <name>', 'of the traffic', PATTERN_NAMES, 'bursty', faults))
    .addOption(wholeNumber('--seed <n>', 'of the random numbers', { min: 0, max: 2 ** 32 - 1, default: 1 }, faults))
    .addOption(wholeNumber('--seconds <n>', 'length of the traffic', { min: 1, max: 1_000_000, default: seconds }, faults))
    .addOption(wholeNumber('--keys <n>', 'merchants with a bucket each', { min: 1, max: maxKeys, default: keys }, faults))
    .addOption(decimal('--load <x>', 'requests for each that the bound allows on average', { min: 0.01, max: 100, default: 1.5 }, faults))
    .addOption(
      new Option('--csv <file>', 'traffic of your own instead: a heading and the columns timestamp (ms or ISO 8601), key, cost')
        // The file says what comes when.
        .conflicts(['pattern', 'seconds', 'keys', 'load']),
    )
    .addOption(wholeNumber('--limit <n>', 'tokens in a window, the same for all', { min: 1, max: 1_000_000, default: 100 }, faults))
    .addOption(wholeNumber('--window-ms <n>', 'length of the window', { min: 1, max: MAX_WINDOW_MS, default: windowMs }, faults))
    .option('--out <dir>', OUT);
}

interface TrafficFlags extends Omit<TrafficOptions, 'bound'> {
  readonly limit: number;
  readonly windowMs: number;
}

/** @throws {CommandError} that names every fault */
function trafficOptions({ limit, windowMs, ...flags }: TrafficFlags, faults: Faults): TrafficOptions {
  const { csv, seconds, keys, load } = flags;
  if (csv !== undefined && !existsSync(csv)) faults.add(`--csv must be a file; there is no ${csv || 'name'}.`);
  const requests = (seconds * 1000 * keys * load * limit) / windowMs;
  if (csv === undefined && requests > MAX_REQUESTS) {
    faults.add(
      `That would be ${count(Math.round(requests))} requests; at most ${count(MAX_REQUESTS)}: take less of --seconds, --keys, --load or --limit.`,
    );
  }
  faults.demandNone();
  return { ...flags, bound: { limit, windowMs } };
}

/** Runs a simulation and writes what it shows. */
async function report(name: string, out: string | undefined, simulate: () => Promise<Report>): Promise<void> {
  if (out === '') throw notStarted('--out must be a directory; got nothing.');
  const folder = out === undefined ? join(dataDirOf(process.env), 'simulation') : resolve(out);
  // Before the run: that there is no place for its results should not be said after it.
  orRefuse(folder, () => mkdirSync(folder, { recursive: true }));
  const { text, pictures, json } = await simulate().catch((error: Error) => {
    // A limit that the limiter itself refuses, such as a log of a million entries, is the caller's affair too.
    throw error.name === 'InvalidLimitError' ? notStarted(error.message) : error;
  });
  print(text);
  const files = {
    ...Object.fromEntries(Object.entries(pictures).map(([picture, svg]) => [`${picture}.svg`, svg])),
    [`${name}.json`]: `${JSON.stringify(json, null, 2)}\n`,
  };
  for (const [file, content] of Object.entries(files)) orRefuse(folder, () => writeFileSync(join(folder, file), content));
  print(`\nWritten to ${relative(process.cwd(), folder) || '.'}: ${Object.keys(files).join(', ')}`);
}

function orRefuse(folder: string, write: () => void): void {
  try {
    write();
  } catch (error) {
    throw notStarted(`Cannot write to ${folder}: ${(error as Error).message}`);
  }
}

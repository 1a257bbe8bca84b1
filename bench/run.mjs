/** npm run bench: measures what performance was promised, as ratios that hold from machine to machine. */
import { build } from '../scripts/build.mjs';
import { demandNode, installMissing } from '../scripts/install.mjs';
import { takeCores } from './shared/cores.mjs';
import { publish, record, table, writeResults } from './shared/report.mjs';
import { Workshop } from './shared/workshop.mjs';

const BENCHES = [
  'gateway-limiting',
  'fast-lane',
  'gateway-peers',
  'identity',
  'decision-api',
  'decision-api-grpc',
  'decision-peers',
  'conditions',
  'protocols',
  'latency',
  'refusals',
  'fairness',
  'unknown-merchants',
  'key-flood',
  'store',
  'algorithms',
  'decisions',
  'leases',
  'memory',
  'growth',
  'workers',
  'reports',
  'preload',
  'apply',
  'rules-api',
  'migrations',
];

const HELP = `npm run bench [-- --only NAME] [--part NAME] [--rounds N] [--seconds N] [--quick | --record | --publish]

Measures the performance of what is in this checkout. Every figure is a ratio (or a number of bytes) within one run: what
is compared is measured in turn, round by round, and the median counts. Needs a redis-server on PATH; PostgreSQL is
the embedded one; what Tollgate is compared with is installed into bench/peers when it is needed.
Prints a table and writes bench/results/<date>.json. Ctrl-C stops everything. The whole takes about an hour.

  --only NAME   one of ${BENCHES.join(', ')}; may be given more than once
  --part NAME   one part of a benchmark that has parts; may be given more than once
  --rounds N    rounds of each comparison, 1 to 100; 5 by default
  --seconds N   length of each measurement, 1 to 60; 5 by default
  --keys N      distinct keys of key-flood, 10,000 to 16,000,000; 10,000,000 by default, which takes half an hour
  --quick       small and short, to see that everything works: the figures mean nothing
  --record      keeps the figures in bench/published.json, from which npm run capacity reckons
  --publish     the same, and puts the figures into docs/benchmarks.md, under the name of each benchmark that was measured
  --help        this text

Let nothing else run meanwhile: what is measured gets one core for itself, and everything else shares the rest.`;

/**
 * @typedef {object} Bench what a benchmark is given
 * @property {Workshop} workshop
 * @property {number} rounds
 * @property {number} seconds length of a measurement
 * @property {number} warmupSeconds before each measurement
 * @property {number} keys of key-flood
 * @property {boolean} quick
 * @property {(line: string) => void} say
 */

/** Thrown for a command line that makes no sense. */
class UsageError extends Error {}

/** @param {string[]} args */
function parse(args) {
  const settings = {
    only: /** @type {string[]} */ ([]),
    part: /** @type {string[]} */ ([]),
    rounds: 0,
    seconds: 0,
    keys: 10_000_000,
    quick: false,
    record: false,
    publish: false,
    help: false,
  };
  for (let i = 0; i < args.length; i++) {
    const [option = '', inline] = (args[i] ?? '').split('=', 2);
    const value = () => inline ?? args[++i] ?? '';
    if (option === '--help') settings.help = true;
    else if (option === '--quick') settings.quick = true;
    else if (option === '--record') settings.record = true;
    else if (option === '--publish') settings.publish = true;
    else if (option === '--only') settings.only.push(oneOf(BENCHES, value()));
    else if (option === '--part') settings.part.push(value());
    else if (option === '--rounds') settings.rounds = whole(option, value(), { most: 100 });
    else if (option === '--seconds') settings.seconds = whole(option, value(), { most: 60 });
    else if (option === '--keys') settings.keys = whole(option, value(), { least: 10_000, most: 16_000_000 });
    else throw new UsageError(`npm run bench does not know ${args[i]}`);
  }
  if (settings.publish && (settings.quick || settings.part.length > 0))
    throw new UsageError('--publish is for whole benchmarks, without --quick and --part');
  if (settings.part.length > 0 && settings.only.length !== 1) throw new UsageError('--part is for the one benchmark that --only names');
  if (settings.record && settings.quick) throw new UsageError('the figures of a --quick run mean nothing, so there is nothing to --record');
  settings.rounds ||= settings.quick ? 2 : 5;
  settings.seconds ||= settings.quick ? 1 : 5;
  return settings;
}

/** @param {string[]} values @param {string} text */
function oneOf(values, text) {
  if (values.includes(text)) return text;
  throw new UsageError(`there is no ${JSON.stringify(text)}: expected one of ${values.join(', ')}`);
}

/** @param {string} option @param {string} text @param {{ least?: number, most: number }} bounds */
function whole(option, text, { least = 1, most }) {
  const value = /^\d{1,8}$/.test(text) ? Number(text) : 0;
  if (value >= least && value <= most) return value;
  throw new UsageError(`${option}: expected a whole number from ${least} to ${most}, got ${JSON.stringify(text)}`);
}

/** @param {ReturnType<typeof parse>} settings */
async function measure({ only, part, rounds, seconds, keys, quick, record: recording, publish: publishing }) {
  const startedAt = new Date();
  demandNode();
  await installMissing(console.log);
  await build();
  const cores = takeCores();
  console.log(`Pinning: ${cores.description}.`);
  console.log(`${rounds} rounds of ${seconds} s${quick ? '; a quick run, whose figures mean nothing' : ''}.`);

  /** @type {Workshop | undefined} */
  let workshop;
  let stopped = false;
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.on(signal, () => {
      if (stopped) process.exit(130);
      stopped = true;
      console.log('\nStopping ...');
      void Promise.resolve(workshop?.close()).then(() => process.exit(130));
    });
  }

  /** @type {import('./shared/report.mjs').Row[]} */
  const rows = [];
  /** @type {Record<string, string>} */
  const failures = {};
  for (const name of BENCHES) {
    if (only.length > 0 && !only.includes(name)) continue;
    // Loaded only now, because it needs what was just built.
    const { title, run, parts = { '': run } } = await import(`./${name}.mjs`);
    for (const each of part) oneOf(Object.keys(parts), each);
    console.log(`\n${name}: ${title}`);
    for (const [each, runPart] of Object.entries(parts)) {
      if (part.length > 0 && !part.includes(each)) continue;
      const began = performance.now();
      const say = (/** @type {string} */ line) => console.log(`  ${line}`);
      workshop = new Workshop(cores);
      try {
        const figures = await runPart({ workshop, rounds, seconds, warmupSeconds: quick ? 1 : 2, keys, quick, say });
        rows.push(...figures.map((/** @type {import('./shared/figures.mjs').Figure} */ figure) => ({ bench: name, ...figure })));
      } catch (error) {
        if (stopped) return await new Promise(() => {});
        failures[`${name} ${each}`.trim()] = /** @type {Error} */ (error).message;
        console.error(`  FAILED: ${/** @type {Error} */ (error).stack}`);
      } finally {
        await workshop.close();
      }
      say(`${each} ${Math.round((performance.now() - began) / 1000)} s`.trim());
    }
  }

  if (rows.length > 0) console.log(`\n${table(rows)}\n`);
  console.log(`Pinning: ${cores.description}.`);
  if (quick) console.log('A quick run: these figures mean nothing.');
  const result = { rows, failures, settings: { rounds, seconds, quick }, cores: cores.description, startedAt };
  console.log(`Everything that was measured is in ${writeResults(result)}.`);
  const failed = Object.keys(failures);
  if (failed.length > 0) {
    console.error(`Not measured: ${failed.join(', ')}.`);
    process.exitCode = 1;
  }
  if (!publishing && !recording) return;
  // Of a benchmark that failed in part, what was measured before stays.
  const lacking = new Set(failed.map((name) => name.split(' ')[0]));
  const kept = { ...result, rows: rows.filter(({ bench }) => !lacking.has(bench)) };
  if (kept.rows.length === 0) return;
  const whole = only.length === 0 && failed.length === 0;
  console.log(`The figures are in ${[...(publishing ? [publish(kept, BENCHES)] : []), record(kept, { whole })].join(' and ')}.`);
}

try {
  const settings = parse(process.argv.slice(2));
  if (settings.help) console.log(HELP);
  else await measure(settings);
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  console.error(`${error.message}\n\n${HELP}`);
  process.exitCode = 2;
}

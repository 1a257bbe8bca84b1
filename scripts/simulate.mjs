/** npm run simulate: replays traffic through algorithms or topologies, and writes a table, charts and JSON. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { build } from './build.mjs';
import { demandNode, installMissing } from './install.mjs';
import { isMain } from './paths.mjs';
import { Refusal } from './command-line.mjs';
import { helpOf, readOptions } from './simulate/options.mjs';

/**
 * @typedef {object} Report
 * @property {string} text for stdout
 * @property {Record<string, string>} pictures SVG, by name
 * @property {object} json
 */

/** The exit code when there was no run. */
const NO_RUN = 2;

/** @param {string[]} args */
async function simulate(args) {
  demandNode();
  await installMissing(console.error);
  await build();
  const simulation = await import('#simulation');
  const { ALGORITHMS, PATTERN_NAMES, TOPOLOGIES } = simulation;
  const offer = { patterns: PATTERN_NAMES, algorithms: ALGORITHMS.map(({ name }) => name), topologies: TOPOLOGIES.map(({ name }) => name) };
  const options = readOptions(args, process.env, offer);
  if (options === 'help') return console.log(helpOf(offer));
  // Before the run: nobody wants to hear afterwards that there is no place for its results.
  orRefuse(options.out, () => mkdirSync(options.out, { recursive: true }));
  const report =
    options.what === 'algorithms'
      ? await (await import('./simulate/algorithms.mjs')).simulateAlgorithms(simulation, options)
      : await (await import('./simulate/topologies.mjs')).simulateTopologies(simulation, options);
  console.log(report.text);
  console.log(`\nWritten to ${relative(process.cwd(), options.out) || '.'}: ${write(options.out, options.what, report).join(', ')}`);
}

/**
 * @param {string} folder
 * @param {string} name
 * @param {Report} report
 */
function write(folder, name, { pictures, json }) {
  const files = {
    ...Object.fromEntries(Object.entries(pictures).map(([picture, svg]) => [`${picture}.svg`, svg])),
    [`${name}.json`]: `${JSON.stringify(json, null, 2)}\n`,
  };
  for (const [file, content] of Object.entries(files)) orRefuse(folder, () => writeFileSync(join(folder, file), content));
  return Object.keys(files);
}

/**
 * @param {string} folder
 * @param {() => void} write
 * @throws {Refusal} when it cannot be written to
 */
function orRefuse(folder, write) {
  try {
    write();
  } catch (error) {
    throw new Refusal(`Cannot write to ${folder}: ${/** @type {Error} */ (error).message}`);
  }
}

if (isMain(import.meta.url)) {
  try {
    await simulate(process.argv.slice(2));
  } catch (error) {
    const { name } = /** @type {Error} */ (error);
    // A limit that the limiter itself refuses, such as a log of a million entries, is the caller's affair too.
    if (!(error instanceof Refusal) && name !== 'InvalidLimitError') throw error;
    // What is wrong does not stand behind half a progress bar.
    if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
    console.error(`${/** @type {Error} */ (error).message}\nnpm run simulate -- --help explains the command.`);
    process.exitCode = NO_RUN;
  }
}

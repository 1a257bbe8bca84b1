/** What a reader sees of the figures: a table on the terminal, JSON in a file. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { basename, join } from 'node:path';
import { writeBetween } from '../../scripts/marked-text.mjs';
import { ROOT } from '../../scripts/paths.mjs';
import { librariesOf } from '../../scripts/services/fetch-debian.mjs';
import { findRedisServer } from '../../scripts/services/redis.mjs';
import { megabytes } from './figures.mjs';
import { keepRun, publishedFigures } from './published.mjs';

/** @typedef {import('./figures.mjs').Figure & { bench: string }} Row */

const HEADER = ['figure', 'goal', 'median', 'min', 'max', ''];

/** @param {Row} row */
const cellsOf = (row) => [row.name, goalText(row), shown(row, row.median), shown(row, row.min), shown(row, row.max), verdict(row)];

/** For a terminal. @param {readonly Row[]} rows */
export function table(rows) {
  const header = HEADER;
  const cells = rows.map(cellsOf);
  const widths = header.map((title, column) => Math.max(title.length, ...cells.map((line) => /** @type {string} */ (line[column]).length)));
  const line = (/** @type {string[]} */ texts) =>
    texts
      .map((text, column) => (column === 0 || column === 5 ? text.padEnd(widths[column] ?? 0) : text.padStart(widths[column] ?? 0)))
      .join('  ')
      .trimEnd();
  return [
    line(header),
    widths
      .map((width) => '-'.repeat(width))
      .join('  ')
      .trimEnd(),
    ...cells.map(line),
  ].join('\n');
}

/** @param {Row} row */
function goalText({ goal, unit }) {
  if (goal === undefined) return '';
  return 'atLeast' in goal ? `>= ${goal.atLeast}${suffix(unit)}` : `<= ${goal.atMost}${suffix(unit)}`;
}

/** @param {Row} row @param {number} value */
const shown = ({ unit }, value) => `${number(value)}${suffix(unit)}`;

/** @param {number} value */
const number = (value) => (value >= 1000 ? Math.round(value).toLocaleString('en-US') : value >= 100 ? value.toFixed(1) : value.toFixed(2));

/** @param {string} unit */
const suffix = (unit) => (unit === '' ? '' : ` ${unit}`);

/** @param {Row} row */
const verdict = ({ reached }) => (reached === undefined ? '' : reached ? 'reached' : 'MISSED');

/**
 * @typedef {object} Run
 * @property {readonly Row[]} rows
 * @property {Record<string, string>} failures
 * @property {{ rounds: number, seconds: number, quick: boolean }} settings
 * @property {string} cores
 * @property {Date} startedAt
 */

const FIGURES = /(<!-- figures: .* -->\n)[^]*(<!-- end of figures -->)/;

/** Each benchmark stands under its name, as it was measured last: one that could not be measured takes no other with it. */
const SECTION = /^### (\S+)\n/m;

/**
 * Puts the figures of a run into docs/benchmarks.md, in the order of `benches`.
 * @param {Run} run
 * @param {readonly string[]} benches the names of all there are; what stands there of others goes
 * @returns {string} the file, relative to the checkout
 */
export function publish({ rows, settings, cores, startedAt }, benches) {
  const file = join('docs', 'benchmarks.md');
  const path = join(ROOT, file);
  const { cpu, node, redis, commit } = machine(cores);
  const when = `Measured on ${startedAt.toISOString().slice(0, 10)} at ${commit}: ${settings.rounds} rounds of ${settings.seconds} s.`;
  const where = `${cpu}, Node ${node}, ${redis}. Pinning: ${cores}.`;
  const sections = sectionsOf(FIGURES.exec(readFileSync(path, 'utf8'))?.[0] ?? '');
  for (const bench of new Set(rows.map((row) => row.bench)))
    sections.set(bench, `${when} ${where}\n\n${markdown(rows.filter((row) => row.bench === bench))}`);
  writeBetween(
    path,
    FIGURES,
    benches.flatMap((bench) => (sections.has(bench) ? [`### ${bench}\n\n${sections.get(bench)}`] : [])).join('\n\n'),
  );
  return file;
}

/** @param {string} text @returns {Map<string, string>} what stands under each name */
function sectionsOf(text) {
  const [, ...parts] = text.replace('<!-- end of figures -->', '').split(SECTION);
  return new Map(parts.flatMap((name, i) => (i % 2 === 0 ? [/** @type {[string, string]} */ ([name, (parts[i + 1] ?? '').trim()])] : [])));
}

/** @param {readonly Row[]} rows */
function markdown(rows) {
  const line = (/** @type {string[]} */ cells) => `| ${cells.join(' | ')} |`;
  return [
    line(HEADER),
    line(HEADER.map((_, column) => (column === 0 || column === 5 ? '---' : '--:'))),
    ...rows.map((row) => line(cellsOf({ ...row, name: row.name.replace(/^ +/, '&nbsp;&nbsp;') }))),
  ].join('\n');
}

/**
 * Keeps the figures for `npm run capacity`.
 * @param {Run} run
 * @param {{ whole: boolean }} options whole: the figures of all benches
 * @returns {string} the file, relative to the checkout
 */
export function record({ rows, cores, startedAt }, { whole }) {
  const { cpu, redis, commit } = machine(cores);
  return keepRun({ on: startedAt.toISOString().slice(0, 10), commit, cpu, redis, figures: publishedFigures(rows) }, whole);
}

/**
 * Writes everything that was measured to bench/results/<date>.json.
 * @param {Run} run
 * @returns {string} the file, relative to the checkout
 */
export function writeResults({ rows, failures, settings, cores, startedAt }) {
  const file = join('bench', 'results', `${startedAt.toISOString().slice(0, 19).replaceAll(':', '-')}.json`);
  const content = {
    startedAt: startedAt.toISOString(),
    seconds: Math.round((Date.now() - startedAt.getTime()) / 1000),
    settings,
    machine: machine(cores),
    figures: rows,
    failures,
  };
  mkdirSync(join(ROOT, 'bench', 'results'), { recursive: true });
  writeFileSync(join(ROOT, file), `${JSON.stringify(content, null, 2)}\n`);
  return file;
}

/** @param {string} cores */
function machine(cores) {
  const [cpu] = cpus();
  return {
    cpu: cpu?.model,
    cores: cpus().length,
    pinning: cores,
    memory: megabytes(totalmem()),
    node: process.version,
    redis: redisVersion(),
    platform: `${process.platform} ${process.arch}`,
    commit: commit(),
  };
}

function redisVersion() {
  const program = findRedisServer() ?? 'redis-server';
  const text = execFileSync(program, ['--version'], { encoding: 'utf8', env: { ...process.env, ...librariesOf(program) } });
  return `${basename(program)} ${/v=(\S+)/.exec(text)?.[1] ?? ''} with ${/malloc=(\S+)/.exec(text)?.[1] ?? 'an unknown allocator'}`;
}

function commit() {
  try {
    return execFileSync('git', ['describe', '--always', '--dirty'], {
      cwd: ROOT,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return undefined;
  }
}

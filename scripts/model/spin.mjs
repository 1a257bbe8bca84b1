/** spin, the model checker: found or fetched, and run. It writes a C program for each model, so that a compiler is needed too. */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { TOOLS } from '../paths.mjs';
import { findProgram } from '../processes.mjs';
import { fetchFromDebian } from '../services/fetch-debian.mjs';

const STEP_TIMEOUT_MS = 3_600_000;
const MEMORY_MB = 6000;
const WALK_STEPS = 20_000;

/** @typedef {{ spin: string, compiler: string }} Checker */
/** @typedef {{ id: string, defines: string[] }} Run `id` is a name for files */
/** @typedef {{ violated: boolean, states: number, printed: string[] }} Found `printed`: what the model says on the shortest way to the violation */

/** @returns {Checker | { missing: string }} */
export function obtainChecker() {
  const compiler = findProgram(['gcc', 'cc']);
  if (!compiler) return { missing: 'there is no C compiler, which spin needs' };
  const find = () => findProgram(['spin']) ?? [join(TOOLS, 'usr', 'bin', 'spin')].find((file) => existsSync(file));
  const found = find() ?? (fetchFromDebian(['spin']), find());
  const runs = found !== undefined && spawnSync(found, ['-V']).status === 0;
  return runs
    ? { spin: found, compiler }
    : { missing: 'spin could not be had. On Debian or Ubuntu: apt install spin. On macOS: brew install spin' };
}

/**
 * Looks at all states of a model, those that are fewest steps away first.
 *
 * @param {Checker} checker
 * @param {string} model a file
 * @param {Run} run
 * @returns {Promise<Found>}
 * @throws {Error} if the search has not come to an end
 */
export async function search({ spin, compiler }, model, { id, defines }) {
  const folder = mkdtempSync(join(tmpdir(), `tollgate-model-${id}-`));
  try {
    const flags = defines.map((define) => `-D${define}`);
    await output(folder, spin, ['-a', ...flags, model]);
    await output(folder, compiler, ['-O1', '-w', '-DSAFETY', '-DBFS', '-DCOLLAPSE', `-DMEMLIM=${MEMORY_MB}`, '-o', 'pan', 'pan.c']);
    const report = await output(folder, './pan', []);
    const states = Number(/^\s*(\d+) states, stored/m.exec(report)?.[1]);
    const errors = /errors: (\d+)/.exec(report)?.[1];
    if (errors === undefined || /Search not completed/.test(report) === (errors === '0'))
      throw new Error(`${id}: the search has not come to an end:\n${report}`);
    const trail = join(folder, `${basename(model)}.trail`);
    const printed = errors === '0' ? [] : lines(await output(folder, spin, ['-k', trail, '-T', '-g', ...flags, model]));
    return { violated: errors !== '0', states, printed };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * What a model says on a way that is drawn, the same for the same seed.
 *
 * @param {Checker} checker
 * @param {string} model a file
 * @param {Run & { seed: number }} run
 */
export async function walk({ spin }, model, { defines, seed }) {
  return lines(await output(tmpdir(), spin, ['-T', `-n${seed}`, `-u${WALK_STEPS}`, ...defines.map((define) => `-D${define}`), model]));
}

/** @param {string} text */
const lines = (text) =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.startsWith('{'));

/**
 * @param {string} cwd
 * @param {string} program
 * @param {string[]} args
 * @returns {Promise<string>}
 */
function output(cwd, program, args) {
  const child = spawn(program, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'], timeout: STEP_TIMEOUT_MS });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (chunk) => (text += chunk));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    // The trail of a violated assertion ends with an exit code of its own.
    child.once('close', (code, signal) =>
      signal === null && (code === 0 || args.includes('-k'))
        ? resolve(text)
        : reject(new Error(`${program} ended with ${signal ?? code}: ${text}`)),
    );
  });
}

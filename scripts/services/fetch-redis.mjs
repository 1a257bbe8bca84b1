/** Gets a real redis-server for the tests where there is none, by whatever this system offers. */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { TOOLS } from '../paths.mjs';
import { fetchFromDebian, isRoot, librariesOf, missingLibraries, onPath, run, unpack } from './fetch-debian.mjs';
import { findRedisServer } from './redis.mjs';

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

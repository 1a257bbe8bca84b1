/** A PostgreSQL server of our own, for npm start and for the tests. */
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, existsSync, mkdirSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { commandOf, directoryOf, endProcess, isAlive } from '../processes.mjs';
import { freePort } from '../ports.mjs';
import { makeOwnDirectory, unprivilegedAccount } from './account.mjs';
import { postgresPrograms } from './postgres-programs.mjs';
import { startServer } from './server.mjs';

const USER = 'tollgate';
const START_TIMEOUT_MS = 60_000;
const STOP_PATIENCE_MS = 10_000;

/** What a server of tests may do without: its data need not outlive it. */
const THROWAWAY = ['fsync=off', 'full_page_writes=off'];

/** @typedef {import('./server.mjs').ServerProcess & { port: number, url: (database: string) => string }} Postgres */

/**
 * Starts a server, making its data directory first if it is not there. One that a killed run left behind on the same directory
 * is stopped before.
 * @param {object} options
 * @param {string} options.directory its data; its owner becomes the account that PostgreSQL runs under
 * @param {string} options.passwordFile
 * @param {import('../tether.mjs').Tether} options.tether
 * @param {boolean} [options.throwaway] fast, and nothing survives a power cut
 * @param {number} [options.port] any free one by default
 * @param {(text: string) => void} [options.onLog]
 * @returns {Promise<Postgres>}
 */
export async function startPostgres({ directory, passwordFile, tether, throwaway = false, port, onLog }) {
  const account = unprivilegedAccount();
  const programs = postgresPrograms(account);
  await stopLeftover(directory);
  const password = passwordIn(passwordFile);
  if (!existsSync(join(directory, 'PG_VERSION'))) initialise({ directory, password, account, programs, throwaway });
  demandSameVersion(directory, programs, account);

  const attempts = port === undefined ? 3 : 1;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await launch({ directory, password, account, programs, tether, throwaway, port: port ?? (await freePort()), onLog });
    } catch (error) {
      // A free port may be gone by the time that the server wants it.
      if (attempt === attempts || !/could not bind|Address already in use/.test(String(error))) throw error;
    }
  }
}

/** @param {string} file */
function passwordIn(file) {
  if (!existsSync(file)) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, randomBytes(18).toString('base64url'), { mode: 0o600 });
  }
  return readFileSync(file, 'utf8').trim();
}

/**
 * Builds the data directory under another name first: one that was interrupted half-way is never taken for whole.
 * @param {{ directory: string, password: string, account: import('./account.mjs').Account | undefined,
 *   programs: import('./postgres-programs.mjs').PostgresPrograms, throwaway: boolean }} options
 */
function initialise({ directory, password, account, programs, throwaway }) {
  const half = `${directory}.half`;
  rmSync(half, { recursive: true, force: true });
  makeOwnDirectory(half, account);
  const passwordFile = join(half, '.password');
  const data = join(half, 'data');
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (account) chownSync(passwordFile, account.uid, account.gid);
  const args = [
    `--pgdata=${data}`,
    `--username=${USER}`,
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    ...(throwaway ? ['--no-sync'] : []),
  ];
  const run = spawnSync(programs.initdb, args, { ...account, cwd: '/', encoding: 'utf8', env: cleanEnvironment() });
  if (run.status !== 0)
    throw new Error(`PostgreSQL could not make its data directory ${directory}:\n${(run.stderr || run.error?.message || '').trim()}`);
  rmSync(directory, { recursive: true, force: true });
  renameSync(data, directory);
  rmSync(half, { recursive: true, force: true });
}

/**
 * @param {string} directory
 * @param {import('./postgres-programs.mjs').PostgresPrograms} programs
 * @param {import('./account.mjs').Account | undefined} account
 */
function demandSameVersion(directory, programs, account) {
  const theirs = readFileSync(join(directory, 'PG_VERSION'), 'utf8').trim();
  const ours = /\d+/.exec(spawnSync(programs.postgres, ['--version'], { ...account, cwd: '/', encoding: 'utf8' }).stdout)?.[0];
  if (theirs !== ours)
    throw new Error(`${directory} was written by PostgreSQL ${theirs}; the embedded one is ${ours}. Begin anew with: npm start -- --fresh`);
}

/**
 * @param {{ directory: string, password: string, account: import('./account.mjs').Account | undefined,
 *   programs: import('./postgres-programs.mjs').PostgresPrograms, tether: import('../tether.mjs').Tether, throwaway: boolean,
 *   port: number, onLog: ((text: string) => void) | undefined }} options
 * @returns {Promise<Postgres>}
 */
async function launch({ directory, password, account, programs, tether, throwaway, port, onLog }) {
  const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=200', 'timezone=UTC', 'log_timezone=UTC'];
  if (throwaway) settings.push(...THROWAWAY);
  let becomeReady = (/** @type {string} */ _outcome) => {};
  const ready = new Promise((resolve) => (becomeReady = resolve));
  const server = startServer({
    program: programs.postgres,
    args: ['-D', directory, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])],
    surroundings: { ...account, cwd: directory, env: cleanEnvironment() },
    tether,
    signals: ['SIGINT', 'SIGQUIT', 'SIGKILL'],
    patienceMs: STOP_PATIENCE_MS,
    onLog: (text) => {
      onLog?.(text);
      if (text.includes('ready to accept connections')) becomeReady('ready');
    },
  });
  const outcome = await Promise.race([ready, server.exited.then(() => 'exited'), sleep(START_TIMEOUT_MS, 'late', { ref: false })]);
  if (outcome === 'late') await server.stop();
  if (outcome !== 'ready')
    throw new Error(
      `PostgreSQL ${outcome === 'late' ? `was not ready after ${START_TIMEOUT_MS / 1000} s` : 'did not start'}:\n${server.lastLines()}`,
    );
  return { ...server, port, url: (database) => `postgres://${USER}:${password}@127.0.0.1:${port}/${database}` };
}

/** Our own PG... and LC_... variables are about other servers. */
function cleanEnvironment() {
  const kept = Object.entries(process.env).filter(([name]) => !/^(PG|LC_|LANG)/.test(name));
  return { ...Object.fromEntries(kept), LC_ALL: 'C' };
}

/**
 * Stops the server that runs on a data directory, if one does.
 * @param {string} directory
 * @returns {Promise<boolean>} whether there was one
 */
export async function stopLeftover(directory) {
  const file = join(directory, 'postmaster.pid');
  if (!existsSync(file)) return false;
  const pid = Number(readFileSync(file, 'utf8').split('\n')[0]);
  // The number alone proves nothing: after a restart of the machine it may be anybody's.
  const ours =
    Number.isInteger(pid) &&
    pid > 1 &&
    isAlive(pid) &&
    (directoryOf(pid) === realpathSync(directory) || commandOf(pid).includes(directory));
  if (ours) await endProcess(pid, ['SIGINT', 'SIGQUIT', 'SIGKILL'], STOP_PATIENCE_MS);
  rmSync(file, { force: true });
  return ours;
}

/** A Redis server of our own, for npm start and for the tests. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { TOOLS } from '../paths.mjs';
import { freePort } from '../ports.mjs';
import { findProgram } from '../processes.mjs';
import { librariesOf } from './fetch-debian.mjs';
import { startServer } from './server.mjs';

const START_TIMEOUT_MS = 10_000;
const STOP_PATIENCE_MS = 10_000;

/** @typedef {import('./server.mjs').ServerProcess & { port: number, url: string }} RedisServer */

/**
 * The real server on this machine, by whichever of its names, or the one that npm test fetched.
 * @returns {string | undefined}
 */
export function findRedisServer() {
  return findProgram(['redis-server', 'valkey-server'], [join(TOOLS, 'usr', 'bin')]);
}

/**
 * Starts a real Redis.
 * @param {object} options
 * @param {string} options.program
 * @param {import('../tether.mjs').Tether} options.tether
 * @param {string} [options.directory] where it keeps its data; without one it keeps nothing
 * @param {number} [options.port] any free one by default
 * @param {Record<string, string>} [options.env] besides the variables of this process
 * @returns {Promise<RedisServer>}
 */
export async function startRedis({ program, tether, directory, port, env }) {
  const keep = directory ? ['--dir', '.', '--appendonly', 'yes', '--appendfsync', 'everysec'] : ['--appendonly', 'no'];
  if (directory) mkdirSync(directory, { recursive: true, mode: 0o700 });
  // Even one that keeps nothing writes a file when it becomes a replica, and would read what another one has left in its folder.
  const place = directory ?? mkdtempSync(join(tmpdir(), 'tollgate-test-redis-'));
  const fixed = ['--bind', '127.0.0.1', '--save', '', ...keep, '--maxmemory-policy', 'noeviction', '--daemonize', 'no'];
  const args = (/** @type {number} */ at) => ['--port', String(at), ...fixed];
  const surroundings = { tether, cwd: place, port, env: { ...process.env, ...librariesOf(program), ...env } };
  const server = await launchOnPort({ command: program, args, ...surroundings });
  if (directory !== undefined) return server;
  const stop = async () => {
    await server.stop();
    rmSync(place, { recursive: true, force: true });
  };
  return { ...server, stop };
}

/**
 * Starts the stand-in written in JavaScript: in memory only, slow, and without some commands.
 * @param {{ tether: import('../tether.mjs').Tether, port?: number }} options
 * @returns {Promise<RedisServer>}
 */
export async function startStandIn({ tether, port }) {
  const script = fileURLToPath(new URL('stand-in.mjs', import.meta.url));
  return launchOnPort({ command: process.execPath, args: (at) => [script, String(at)], tether, cwd: '/', port, env: process.env });
}

/**
 * @param {{ command: string, args: (port: number) => string[], tether: import('../tether.mjs').Tether, cwd: string,
 *   port: number | undefined, env: NodeJS.ProcessEnv }} options
 * @returns {Promise<RedisServer>}
 */
async function launchOnPort({ command, args, tether, cwd, port, env }) {
  for (let attempt = 1; ; attempt += 1) {
    const at = port ?? (await freePort());
    try {
      return await launch(command, args(at), at, tether, { cwd, env });
    } catch (error) {
      // A free port may be gone by the time that the server wants it.
      if (port !== undefined || attempt === 3 || !/in use|EADDRINUSE/i.test(String(error))) throw error;
    }
  }
}

/**
 * @param {string} program
 * @param {string[]} args
 * @param {number} port
 * @param {import('../tether.mjs').Tether} tether
 * @param {{ cwd: string, env: NodeJS.ProcessEnv }} surroundings
 * @returns {Promise<RedisServer>}
 */
async function launch(program, args, port, tether, surroundings) {
  const server = startServer({ program, args, surroundings, tether, signals: ['SIGTERM', 'SIGKILL'], patienceMs: STOP_PATIENCE_MS });
  for (const end = Date.now() + START_TIMEOUT_MS; !(await answersPing(port)); await sleep(20)) {
    if (server.hasExited()) throw new Error(`${program} did not start:\n${server.lastLines().trim()}`);
    if (Date.now() < end) continue;
    await server.stop();
    throw new Error(`${program} was not ready after ${START_TIMEOUT_MS / 1000} s:\n${server.lastLines().trim()}`);
  }
  if (server.hasExited()) throw new Error(`${program} did not start: port ${port} is already in use by another server`);
  return { ...server, port, url: `redis://127.0.0.1:${port}` };
}

/**
 * Whether a Redis is there and has loaded its data.
 * @param {number} port
 * @returns {Promise<boolean>}
 */
function answersPing(port) {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', timeout: 1000 });
    /** @param {boolean} answer */
    const finish = (answer) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => socket.write('*1\r\n$4\r\nPING\r\n'));
    socket.once('data', (data) => finish(data.toString().startsWith('+PONG')));
    socket.once('timeout', () => finish(false));
    socket.once('error', () => finish(false));
  });
}

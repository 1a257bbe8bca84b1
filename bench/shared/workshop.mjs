/** The processes and folders of a benchmark, all on loopback, and how they end with it. */
import { spawn } from 'node:child_process';
import { chmodSync, closeSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { ROOT } from '../../scripts/paths.mjs';
import { endProcess } from '../../scripts/processes.mjs';
import { placeFor, unprivilegedAccount } from '../../scripts/services/account.mjs';
import { startPostgres } from '../../scripts/services/postgres.mjs';
import { librariesOf } from '../../scripts/services/fetch-debian.mjs';
import { findRedisServer, startRedis } from '../../scripts/services/redis.mjs';
import { Tether } from '../../scripts/tether.mjs';
import { onMeasuredCore } from './cores.mjs';

const START_TIMEOUT_MS = 30_000;
const LINES_KEPT = 15;

/**
 * @typedef {object} Job a process on its way
 * @property {number} pid
 * @property {(matches: (line: string) => boolean, withinMs: number) => Promise<string>} line waits for a line of its output
 * @property {Promise<void>} ended rejects when it failed
 * @property {() => Promise<void>} stop
 */

/**
 * @typedef {object} StartOptions
 * @property {string[]} [args]
 * @property {Record<string, string>} [env] besides PATH, HOME and TMPDIR
 * @property {boolean | 'all'} [measured] on the measured core, or on all cores
 * @property {string} [stdin] a file
 * @property {(line: string) => void} [onLine] is told each line of its output
 */

export class Workshop {
  #tether = new Tether();
  /** @type {(() => Promise<void> | void)[]} */
  #endings = [];
  #closed = false;

  /** @param {import('./cores.mjs').Cores} cores */
  constructor(cores) {
    this.cores = cores;
  }

  /** A Redis of our own that keeps nothing on disk. */
  async redis() {
    const program = findRedisServer();
    if (!program) throw new Error('The benchmarks need a redis-server or valkey-server on PATH.');
    const server = await startRedis({ program, tether: this.#tether });
    await this.#endWith(() => server.stop());
    return server;
  }

  /**
   * An empty PostgreSQL of our own.
   * @returns {Promise<{ url: string, pid: number }>}
   */
  async postgres() {
    const place = this.directory();
    const server = await startPostgres({
      directory: join(place, 'postgres'),
      passwordFile: join(place, 'password'),
      tether: this.#tether,
      throwaway: true,
    });
    await this.#endWith(() => server.stop());
    return { url: server.url('postgres'), pid: server.pid };
  }

  /** A folder for a while, that PostgreSQL gets into as well. */
  directory() {
    const place = mkdtempSync(join(placeFor(tmpdir(), unprivilegedAccount()), 'tollgate-bench-'));
    chmodSync(place, 0o755);
    this.#endings.unshift(() => rmSync(place, { recursive: true, force: true }));
    return place;
  }

  /**
   * Starts a process that ends with us.
   * @param {string} program
   * @param {StartOptions} [options]
   * @returns {Job}
   */
  start(program, { args = [], env = {}, measured = false, stdin, onLine } = {}) {
    if (this.#closed) throw new Error('the benchmark is over');
    const [command, commandArgs] = measured ? onMeasuredCore(this.cores, program, args, measured === 'all') : [program, args];
    // A process group of its own: Ctrl-C reaches us alone, and we stop everything in order.
    const input = stdin === undefined ? undefined : openSync(stdin, 'r');
    const child = spawn(command, commandArgs, {
      cwd: ROOT,
      env: { ...inherited(), ...env },
      detached: true,
      stdio: [input ?? 'ignore', 'pipe', 'pipe'],
    });
    if (input !== undefined) closeSync(input);
    this.#tether.tie(child, 'KILL');
    const job = watch(child, `${program} ${args.slice(0, 2).join(' ')}`, onLine);
    this.#endings.push(() => job.stop());
    return job;
  }

  /**
   * Starts a script in Node.
   * @param {string} script
   * @param {StartOptions} [options]
   */
  node(script, { args = [], env = {}, ...options } = {}) {
    return this.start(process.execPath, { ...options, args: [script, ...args], env: { NODE_ENV: 'production', ...env } });
  }

  /** Ends everything, the last one started first. */
  async close() {
    this.#closed = true;
    const endings = this.#endings.splice(0);
    // Processes before folders: those were put in front.
    for (const end of endings.reverse()) await Promise.resolve(end()).catch(() => {});
  }

  /** @param {() => Promise<void>} end */
  async #endWith(end) {
    this.#endings.push(end);
    if (!this.#closed) return;
    await end();
    throw new Error('the benchmark is over');
  }
}

/** Where the programs that come with Redis are, for those that are called by name. */
export function redisTool(/** @type {'redis-cli' | 'redis-benchmark'} */ name) {
  const server = findRedisServer() ?? '';
  const family = server.includes('valkey') ? name.replace('redis', 'valkey') : name;
  return { program: join(server, '..', family), env: librariesOf(server) };
}

function inherited() {
  return Object.fromEntries(
    ['PATH', 'HOME', 'TMPDIR'].flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  );
}

/**
 * @param {import('node:child_process').ChildProcess} child
 * @param {string} name
 * @param {(line: string) => void} [onLine]
 * @returns {Job}
 */
function watch(child, name, onLine) {
  /** @type {string[]} */
  const lines = [];
  /** @type {Set<(line: string) => void>} */
  const listeners = new Set(onLine ? [onLine] : []);
  let over = false;
  for (const stream of [child.stdout, child.stderr]) {
    if (!stream) continue;
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line);
      if (lines.length > 200) lines.shift();
      for (const listener of listeners) listener(line);
    });
  }
  let stopping = false;
  const ended = new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      over = true;
      if (code === 0 || stopping) resolve(undefined);
      else reject(new Error(`${name} ended with ${signal ?? `code ${code}`}:\n${lines.slice(-LINES_KEPT).join('\n')}`));
    });
  });
  ended.catch(() => {});
  const pid = /** @type {number} */ (child.pid);
  return {
    pid,
    ended,
    line: (matches, withinMs = START_TIMEOUT_MS) =>
      new Promise((resolve, reject) => {
        const already = lines.find(matches);
        if (already !== undefined) return resolve(already);
        const finish = () => {
          clearTimeout(timer);
          listeners.delete(listener);
        };
        /** @param {string} line */
        const listener = (line) => {
          if (!matches(line)) return;
          finish();
          resolve(line);
        };
        const fail = (/** @type {Error} */ error) => {
          finish();
          reject(error);
        };
        const timer = setTimeout(
          () => fail(new Error(`${name} took longer than ${Math.round(withinMs / 1000)} s:\n${lines.slice(-LINES_KEPT).join('\n')}`)),
          withinMs,
        );
        listeners.add(listener);
        ended.then(() => fail(new Error(`${name} ended too early:\n${lines.slice(-LINES_KEPT).join('\n')}`)), fail);
      }),
    async stop() {
      stopping = true;
      if (!over) await endProcess(pid, ['SIGTERM', 'SIGKILL'], 5000);
    },
  };
}

/** A server's process: what PostgreSQL and Redis have in common. */
import { spawn } from 'node:child_process';
import { endProcess } from '../processes.mjs';

const LOG_KEPT = 4000;

/**
 * @typedef {object} ServerProcess
 * @property {number} pid
 * @property {Promise<number | null>} exited its exit code, once it has ended, for whatever reason
 * @property {() => boolean} hasExited
 * @property {() => string} lastLines the end of its log
 * @property {() => Promise<void>} stop ends it, in the end by force
 */

/**
 * Starts a server's program in a session of its own: Ctrl-C is for us to pass on, when those who use it are gone.
 * @param {object} options
 * @param {string} options.program
 * @param {string[]} options.args
 * @param {Pick<import('node:child_process').SpawnOptions, 'cwd' | 'env' | 'uid' | 'gid'>} options.surroundings
 * @param {import('../tether.mjs').Tether} options.tether
 * @param {[NodeJS.Signals, ...NodeJS.Signals[]]} options.signals by which it is stopped, one after the other
 * @param {number} options.patienceMs after each signal
 * @param {(text: string) => void} [options.onLog]
 * @returns {ServerProcess}
 */
export function startServer({ program, args, surroundings, tether, signals, patienceMs, onLog }) {
  const child = spawn(program, args, { ...surroundings, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  tether.tie(child, signals[0] === 'SIGINT' ? 'INT' : 'TERM');
  let tail = '';
  let ended = false;
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      tail = (tail + text).slice(-LOG_KEPT);
      onLog?.(text);
    });
  /** @type {Promise<number | null>} */
  const exited = new Promise((resolve) => {
    child.once('exit', (code) => resolve(code));
    child.once('error', (error) => {
      tail += error.message;
      resolve(null);
    });
  });
  exited.then(() => (ended = true));
  const pid = child.pid ?? 0;
  return {
    pid,
    exited,
    hasExited: () => ended,
    lastLines: () => tail,
    stop: async () => void (pid && (await endProcess(pid, signals, patienceMs))),
  };
}

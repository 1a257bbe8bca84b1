/** One of our Node processes under npm start: its log goes to a file, and line by line to whoever reads along. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { ROOT } from '../paths.mjs';
import { endProcess } from '../processes.mjs';
import { LogFile } from './log-file.mjs';

const LINES_KEPT = 12;

/** @typedef {Record<string, unknown> & { msg?: string, level?: string }} LogLine a line of an app's log; other text is its `msg` alone */

/**
 * @typedef {object} Part what npm start starts and stops
 * @property {string} name
 * @property {number} pid
 * @property {string} [redisUrl] where it answers, if it is a Redis
 * @property {Promise<number | null>} exited
 * @property {() => string} lastLines
 * @property {() => Promise<void>} stop
 */

/**
 * @param {object} options
 * @param {string} options.name
 * @param {string[]} options.args for node: its options and the script
 * @param {Record<string, string>} options.env
 * @param {string} options.logFile
 * @param {number} options.graceMs how long it may take to stop
 * @param {import('../tether.mjs').Tether} options.tether
 * @param {(line: LogLine) => void} options.onLine
 * @returns {Part}
 */
export function startChild({ name, args, env, logFile, graceMs, tether, onLine }) {
  // A process group of its own: Ctrl-C reaches us alone, and we stop our parts one after the other.
  const child = spawn(process.execPath, args, {
    cwd: ROOT,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (child.pid === undefined) throw new Error(`${name} could not be started: node ${args.join(' ')}`);
  tether.tie(child, 'TERM');
  const file = new LogFile(logFile);
  /** @type {string[]} */
  const last = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (text) => {
      file.write(`${text}\n`);
      last.push(text);
      if (last.length > LINES_KEPT) last.shift();
      onLine(parsed(text));
    });
  }
  const { pid } = child;
  return {
    name,
    pid,
    // 'close' rather than 'exit': by then its last words have been read.
    exited: new Promise((resolve) => child.once('close', (code) => resolve(code))),
    lastLines: () => last.join('\n'),
    stop: () => endProcess(pid, ['SIGTERM', 'SIGKILL'], graceMs + 2_000),
  };
}

/**
 * @param {string} text
 * @returns {LogLine}
 */
function parsed(text) {
  try {
    if (text.startsWith('{')) return JSON.parse(text);
  } catch {
    // Not one of ours after all.
  }
  return { msg: text };
}

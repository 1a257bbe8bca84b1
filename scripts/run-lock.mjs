/** One run of npm start in one data directory. */
import { accessSync, constants, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { tryLock } from './lock.mjs';

/** How long a run that is ending may take until another one can begin. */
const ENDING_PATIENCE_MS = 30_000;
/** How long a run whose npm was killed may take to notice. */
const NOTICE_MS = 1_500;

/** @typedef {{ name: string, pid: number, started: string | undefined, redisUrl?: string | undefined }} RunChild a process that a run has started */

/**
 * Makes a data directory this process's own.
 * @param {string} directory absolute
 * @returns {Promise<() => void>} gives it back
 * @throws {Error} when another run has it, or when it cannot be written
 */
export async function takeDataDirectory(directory) {
  try {
    mkdirSync(directory, { recursive: true });
    accessSync(directory, constants.W_OK);
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error);
    throw new Error(`The data directory ${directory} cannot be written (${code}). Set TOLLGATE_DATA_DIR to another one.`);
  }
  for (const startedMs = Date.now(); ; await sleep(100)) {
    const lock = tryLock(join(directory, 'run.lock'));
    if (lock.held) return lock.release;
    if (Date.now() - startedMs <= (readRun(directory).ending ? ENDING_PATIENCE_MS : NOTICE_MS)) continue;
    throw new Error(
      `npm start is already running here, as process ${lock.holder}. Stop it with Ctrl-C, or: kill ${lock.holder}\nA second one beside it needs its own TOLLGATE_DATA_DIR and ports.`,
    );
  }
}

/** Where a run notes what it has started. @param {string} directory */
export const runFile = (directory) => join(directory, 'run.json');

/**
 * What the last run has noted.
 * @param {string} directory
 * @returns {{ ending: boolean, children: RunChild[] }}
 */
export function readRun(directory) {
  try {
    const { ending, children } = JSON.parse(readFileSync(runFile(directory), 'utf8'));
    return { ending: ending === true, children: Array.isArray(children) ? children : [] };
  } catch {
    return { ending: false, children: [] };
  }
}

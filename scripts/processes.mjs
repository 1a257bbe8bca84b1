/** Small facts about processes, on Linux by /proc and elsewhere by ps. */
import { spawnSync } from 'node:child_process';
import { accessSync, constants, readFileSync, readlinkSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Whether a process runs. A zombie counts as gone: nobody is going to hear from it again.
 * @param {number} pid
 */
export function isAlive(pid) {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EPERM') return false;
  }
  return statFields(pid)?.state !== 'Z';
}

/**
 * A text that differs between two processes that had the same pid one after the other; undefined when there is none.
 * @param {number} pid
 * @returns {string | undefined}
 */
export function startMark(pid) {
  const fields = statFields(pid);
  if (fields) return fields.startTicks;
  const ps = spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' });
  return ps.status === 0 ? ps.stdout.trim() || undefined : undefined;
}

/** @param {number} pid */
function statFields(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The command stands in parentheses and may itself hold spaces and parentheses.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0] ?? '', parent: Number(fields[1]), startTicks: fields[19] ?? '' };
  } catch {
    return undefined;
  }
}

/**
 * The parent of a process; undefined when it cannot be known.
 * @param {number} pid
 */
export function parentOf(pid) {
  const fields = statFields(pid);
  if (fields) return fields.parent;
  const ps = spawnSync('ps', ['-o', 'ppid=', '-p', String(pid)], { encoding: 'utf8' });
  return ps.status === 0 ? Number(ps.stdout) || undefined : undefined;
}

/**
 * The command line of a process, its arguments joined by spaces; empty when it cannot be known.
 * @param {number} pid
 */
export function commandOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
  } catch {
    const ps = spawnSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' });
    return ps.status === 0 ? ps.stdout.trim() : '';
  }
}

/**
 * The working directory of a process; undefined when it cannot be known.
 * @param {number} pid
 */
export function directoryOf(pid) {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return undefined;
  }
}

/**
 * Waits until a process is gone.
 * @param {number} pid
 * @param {number} withinMs
 * @returns {Promise<boolean>} false when it still ran at the end
 */
export async function waitUntilGone(pid, withinMs) {
  for (const end = Date.now() + withinMs; isAlive(pid); await sleep(25)) if (Date.now() >= end) return false;
  return true;
}

/**
 * Sends the signals one after the other, each with the same patience, until the process is gone. SIGKILL should stand last.
 * @param {number} pid
 * @param {NodeJS.Signals[]} signals
 * @param {number} patienceMs
 */
export async function endProcess(pid, signals, patienceMs) {
  for (const signal of signals) {
    try {
      process.kill(pid, signal);
    } catch {
      return;
    }
    if (await waitUntilGone(pid, patienceMs)) return;
  }
}

/**
 * The first of these programs that is on PATH, or in one of the other directories.
 * @param {string[]} names
 * @param {string[]} [directories] looked into after PATH
 * @returns {string | undefined} its absolute path
 */
export function findProgram(names, directories = []) {
  const places = [...(process.env['PATH'] ?? '').split(delimiter).filter(Boolean), ...directories];
  for (const name of names) {
    for (const place of places) {
      const file = join(place, name);
      try {
        accessSync(file, constants.X_OK);
        if (statSync(file).isFile()) return file;
      } catch {
        // Not here; look on.
      }
    }
  }
  return undefined;
}

/** Which processor cores a run uses: one for what is measured, the rest for everything else. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { findProgram } from '../../scripts/processes.mjs';

/**
 * @typedef {object} Cores
 * @property {string | undefined} measured the core of what is measured, as taskset writes it; undefined when nothing is pinned
 * @property {string | undefined} rest the cores of load, upstream, Redis and PostgreSQL
 * @property {string} description for the reader of the figures
 */

/**
 * Chooses the cores and moves this process to `rest`, where its children are then born as well.
 * @returns {Cores}
 */
export function takeCores() {
  const taskset = findProgram(['taskset']);
  const allowed = allowedCores();
  if (!taskset) return unpinned('taskset is not on PATH');
  if (allowed.length < 2) return unpinned('there are fewer than two cores');
  const [measured, ...others] = allowed;
  const rest = others.join(',');
  const moved = spawnSync(taskset, ['-a', '-c', '-p', rest, String(process.pid)], { stdio: 'ignore' });
  if (moved.status !== 0) return unpinned('taskset was not allowed to');
  return {
    measured: String(measured),
    rest,
    description: `what is measured on core ${measured}; load, upstream, Redis and PostgreSQL on core ${rest}`,
  };
}

/** @param {string} why @returns {Cores} */
function unpinned(why) {
  return { measured: undefined, rest: undefined, description: `not pinned to cores, ${why}: the figures are less steady` };
}

/**
 * The command that runs a program on the measured core.
 * @param {Cores} cores
 * @param {string} program
 * @param {string[]} args
 * @param {boolean} [all] on all cores, of which the load and what it needs use some as well
 * @returns {[program: string, args: string[]]}
 */
export function onMeasuredCore({ measured, rest }, program, args, all = false) {
  return measured === undefined ? [program, args] : ['taskset', ['-c', all ? `${measured},${rest}` : measured, program, ...args]];
}

/** @returns {number[]} */
function allowedCores() {
  try {
    const list = /^Cpus_allowed_list:\s*(\S+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '';
    return list.split(',').flatMap((range) => {
      const [first = 0, last = first] = range.split('-').map(Number);
      return Array.from({ length: last - first + 1 }, (_, i) => first + i);
    });
  } catch {
    return [];
  }
}

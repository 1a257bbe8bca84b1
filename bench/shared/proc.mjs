/** What the system knows about a running process. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** Clock ticks a second in /proc; 100 on every Linux that Node runs on. */
const TICKS = 100;

/**
 * Processor time that a process has used so far, all its threads together.
 * @param {number} pid
 * @returns {number | undefined} seconds; undefined where the system does not tell
 */
export function cpuSeconds(pid) {
  const fields = statOf(pid);
  return fields && (Number(fields[11]) + Number(fields[12])) / TICKS;
}

/**
 * The same of a process and its children, those that have ended included: of PostgreSQL with all its connections.
 * @param {number} pid
 * @returns {number} seconds; NaN where the system does not tell
 */
export function cpuSecondsOfFamily(pid) {
  try {
    let ticks = 0;
    for (const name of readdirSync('/proc')) {
      if (!/^\d+$/.test(name)) continue;
      const stat = statOf(Number(name));
      if (stat === undefined || (Number(name) !== pid && Number(stat[1]) !== pid)) continue;
      // Of the process itself its ended children count as well.
      for (const field of Number(name) === pid ? [11, 12, 13, 14] : [11, 12]) ticks += Number(stat[field]);
    }
    return ticks / TICKS;
  } catch {
    return NaN;
  }
}

/** The fields behind the name. @param {number} pid */
function statOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}

/**
 * Memory of a process that is in RAM.
 * @param {number} pid
 * @returns {number | undefined} bytes; undefined when the process is gone
 */
export function residentBytes(pid) {
  try {
    return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
  } catch {
    const ps = spawnSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' });
    return ps.status === 0 ? Number(ps.stdout) * 1024 : undefined;
  }
}

/** Samples the memory of a process until stopped. */
export class MemorySampler {
  /** @type {number[]} */
  #samples = [];
  /** @type {NodeJS.Timeout} */
  #timer;

  /** @param {number} pid @param {number} [everyMs] */
  constructor(pid, everyMs = 50) {
    const sample = () => {
      const bytes = residentBytes(pid);
      if (bytes) this.#samples.push(bytes);
    };
    sample();
    this.#timer = setInterval(sample, everyMs);
  }

  /** @returns {number[]} bytes, in the order of time */
  stop() {
    clearInterval(this.#timer);
    return this.#samples;
  }
}

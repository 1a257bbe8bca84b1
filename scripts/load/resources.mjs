/** CPU and memory of what `npm start` runs, while a load lasts. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** @typedef {{ cpuSeconds: number, rssBytes: number }} Use */
/** @typedef {{ name: string, pid: number }} Process */

const EVERY_MS = 500;

/**
 * Begins to watch. What it returns ends that, and says in words what was used.
 * @param {string} dataDir of the npm start that carries the load
 * @returns {() => string}
 */
export function watchResources(dataDir) {
  const startedMs = performance.now();
  const watched = processesOf(dataDir).map(({ name, pid }) => ({ name, pid, first: useOf(pid), last: useOf(pid), mostBytes: 0 }));
  const look = () => {
    for (const each of watched) {
      each.last = useOf(each.pid) ?? each.last;
      each.mostBytes = Math.max(each.mostBytes, each.last?.rssBytes ?? 0);
    }
  };
  look();
  const timer = setInterval(look, EVERY_MS);
  return () => {
    clearInterval(timer);
    look();
    const seconds = (performance.now() - startedMs) / 1000;
    const rows = watched.flatMap(({ name, first, last, mostBytes }) =>
      first && last
        ? [`  ${name.padEnd(12)}${share(last.cpuSeconds - first.cpuSeconds, seconds).padStart(10)}${megabytes(mostBytes).padStart(12)}`]
        : [],
    );
    if (rows.length === 0) return `CPU and memory are not known: nothing that npm start runs was found in ${dataDir}.`;
    return ['CPU of one core, and memory at most, while it lasted:', ...rows].join('\n');
  };
}

/** @param {number} cpuSeconds @param {number} seconds */
const share = (cpuSeconds, seconds) => `${Math.round((100 * cpuSeconds) / seconds)} %`;

/** @param {number} bytes */
const megabytes = (bytes) => `${Math.round(bytes / 1e6)} MB`;

/**
 * What runs now, by the notes of npm start.
 * @param {string} dataDir
 * @returns {Process[]}
 */
function processesOf(dataDir) {
  try {
    return JSON.parse(readFileSync(join(dataDir, 'run.json'), 'utf8')).children;
  } catch {
    return [];
  }
}

/**
 * Undefined if there is no such process, or nobody can say.
 * @param {number} pid
 * @returns {Use | undefined}
 */
function useOf(pid) {
  try {
    return process.platform === 'linux' ? linuxUseOf(pid) : otherUseOf(pid);
  } catch {
    return undefined;
  }
}

/** @param {number} pid @returns {Use} */
function linuxUseOf(pid) {
  // The name of a program may hold spaces and brackets; the numbers follow the last bracket.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  const ticks = Number(fields[11]) + Number(fields[12]);
  const rssKilobytes = Number(/^VmRSS:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  return { cpuSeconds: ticks / 100, rssBytes: rssKilobytes * 1024 };
}

/** @param {number} pid @returns {Use} */
function otherUseOf(pid) {
  const [rssKilobytes, time] = execFileSync('ps', ['-o', 'rss=,time=', '-p', String(pid)], { encoding: 'utf8' })
    .trim()
    .split(/\s+/);
  // Hours and minutes may be missing: 1:02:03, 02:03.45
  const cpuSeconds = (time ?? '').split(':').reduce((sum, part) => sum * 60 + Number(part), 0);
  return { cpuSeconds, rssBytes: Number(rssKilobytes) * 1024 };
}

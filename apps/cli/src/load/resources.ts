import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pidusage from 'pidusage';
import { table } from '../shared/output.js';

const EVERY_MS = 500;

interface Watched {
  readonly name: string;
  readonly pid: number;
  readonly cpuMs: { first: number; last: number };
  mostBytes: number;
}

/**
 * Watches CPU and memory of what `npm start` runs in a data directory. The function that it returns ends that, and gives a table of
 * what was used meanwhile.
 */
export function watchResources(dataDir: string): () => Promise<string> {
  const startedMs = performance.now();
  const watched = new Map<number, Watched>();
  const processes = processesOf(dataDir);
  const look = async (): Promise<void> => {
    for (const { name, pid } of processes) {
      // A process that has ended keeps its last figures.
      const use = await pidusage(pid).catch(() => undefined);
      if (use === undefined) continue;
      const one = watched.get(pid) ?? { name, pid, cpuMs: { first: use.ctime, last: use.ctime }, mostBytes: 0 };
      watched.set(pid, one);
      one.cpuMs.last = use.ctime;
      one.mostBytes = Math.max(one.mostBytes, use.memory);
    }
  };
  let looking = look();
  const timer = setInterval(() => (looking = looking.then(look)), EVERY_MS);
  return async () => {
    clearInterval(timer);
    await (looking = looking.then(look));
    pidusage.clear();
    if (watched.size === 0) return `CPU and memory are not known: nothing that npm start runs was found in ${dataDir}.`;
    const ms = performance.now() - startedMs;
    const rows = [...watched.values()].map(({ name, cpuMs, mostBytes }) => [
      name,
      `${Math.round((100 * (cpuMs.last - cpuMs.first)) / ms)} %`,
      `${Math.round(mostBytes / 1e6)} MB`,
    ]);
    return table(['while it lasted', 'CPU, of one core', 'memory at most'], rows);
  };
}

/** What runs now, by the notes of npm start. */
function processesOf(dataDir: string): readonly { readonly name: string; readonly pid: number }[] {
  try {
    const { children } = JSON.parse(readFileSync(join(dataDir, 'run.json'), 'utf8')) as { children: Watched[] };
    return children.map(({ name, pid }) => ({ name: String(name), pid: Number(pid) }));
  } catch {
    return [];
  }
}

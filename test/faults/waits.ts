/** How busy the machine is with others: by the accounts of Linux, not by how late anything was. */
import { readFileSync } from 'node:fs';

/** Of the time in which a fault was tried, so much may have been spent in waiting for a processor. */
const BUSY_SHARE = 0.1;

export interface Waits {
  /** By process: for how long it has waited for a processor. Processes of which the system does not say it are left out. */
  readonly waitedMs: ReadonlyMap<number, number>;
  /** The share of the time that the process that waited longest has waited. */
  readonly share: number;
  readonly busy: boolean;
}

/** Begins to look; what it returns says how long the main threads of these processes, and of this one, have waited for a processor since. */
export function watchWaits(pids: readonly number[]): () => Waits {
  const [before, beganMs] = [allWaitsMs([process.pid, ...pids]), performance.now()];
  return () => {
    const after = allWaitsMs([...before.keys()]);
    const waitedMs = new Map([...after].map(([pid, ms]) => [pid, ms - (before.get(pid) ?? ms)]));
    const share = Math.max(0, ...waitedMs.values()) / (performance.now() - beganMs);
    return { waitedMs, share, busy: share > BUSY_SHARE };
  };
}

/** Milliseconds since each process began. */
function allWaitsMs(pids: readonly number[]): Map<number, number> {
  return new Map(
    pids.flatMap((pid) => {
      try {
        const [, waitedNs] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ');
        return [[pid, Number(waitedNs) / 1e6] as const];
      } catch {
        return [];
      }
    }),
  );
}

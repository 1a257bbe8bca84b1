import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/** Where a container's share of the processor stands: of cgroup v2, then quota and period of v1. */
const QUOTA = '/sys/fs/cgroup/cpu.max';
const QUOTA_V1 = ['/sys/fs/cgroup/cpu/cpu.cfs_quota_us', '/sys/fs/cgroup/cpu/cpu.cfs_period_us'];

/**
 * The cores that this process may use: those that it may run on, and in a container no more than its share comes to, a part of a core counting as one.
 *
 * @param read the text of a file; throws where there is none
 */
export function usableCores(read = (path: string) => readFileSync(path, 'utf8'), cores = availableParallelism()): number {
  const [quota = '', period = ''] = texts(read, [QUOTA])?.[0]?.split(' ') ?? texts(read, QUOTA_V1) ?? [];
  const share = Number.parseInt(quota, 10) / Number.parseInt(period, 10);
  return share > 0 ? Math.min(cores, Math.ceil(share)) : cores;
}

function texts(read: (path: string) => string, paths: readonly string[]): string[] | undefined {
  try {
    return paths.map((path) => read(path).trim());
  } catch {
    return undefined;
  }
}

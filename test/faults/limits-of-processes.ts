/** Bounds that the system sets a process, taken away from it while it runs. */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { platform } from 'node:os';

/** Whether this machine has prlimit (util-linux). */
export function canLimit(): boolean {
  return platform() === 'linux' && spawnSync('prlimit', ['--version']).status === 0;
}

/** No more files and sockets than it has open now. */
export function noMoreDescriptors(pid: number): void {
  prlimit(pid, `--nofile=${readdirSync(`/proc/${pid}/fd`).length}:`);
}

export function descriptorsAgain(pid: number): void {
  prlimit(pid, '--nofile=4096:');
}

/** No byte more in any file, as on a disk that is full. */
export function fullDisk(pid: number): void {
  prlimit(pid, '--fsize=0:');
}

export function roomOnDisk(pid: number): void {
  prlimit(pid, '--fsize=unlimited:');
}

/** The soft limit: the hard one stays, so that it can be lifted again. */
function prlimit(pid: number, limit: string): void {
  const { status, stderr } = spawnSync('prlimit', ['--pid', String(pid), limit], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`prlimit ${limit}: ${stderr}`);
}

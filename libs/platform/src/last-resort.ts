import { type ChildProcess, spawn } from 'node:child_process';

/**
 * Waits for the end of its input, which is the end of whoever started it, in whatever way. When that has not come after $1
 * seconds it kills process $2. At the end it goes with its whole process group, the sleep included.
 */
const GUARD = `
(sleep "$1"; kill -KILL "$2"; kill -KILL 0) &
read -r end
kill -KILL 0
`;

/**
 * Sees to it that this process has ended after `ms` milliseconds, also if its event loop is blocked by then, or process.exit
 * waits for a thread that hangs in a name look-up: no timer and no thread of its own could help it out. A small shell
 * beside it does. A shell that cannot be started is no reason not to stop.
 */
export function endAtTheLatestIn(ms: number): void {
  try {
    // A session of its own, so that what is sent to our process group does not end it before its time.
    const guard: ChildProcess = spawn('/bin/sh', ['-c', GUARD, 'sh', (ms / 1000).toFixed(3), String(process.pid)], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    guard.on('error', () => undefined);
    guard.stdin?.on('error', () => undefined);
    guard.unref();
    (guard.stdin as unknown as { unref?(): void } | null)?.unref?.();
  } catch {
    // No process can be started: what is left are the deadlines in this one.
  }
}

import { type ChildProcess, spawn } from 'node:child_process';

/**
 * Waits for the end of its input, which closes when the process that started it ends, in whatever way. If that has not happened
 * after $1 seconds, the script kills process $2. In the end it kills its own process group, the sleep included.
 */
const GUARD = `
(sleep "$1"; kill -KILL "$2"; kill -KILL 0) &
read -r end
kill -KILL 0
`;

/**
 * Ends this process after at most `ms` milliseconds, even if its event loop is blocked by then or process.exit waits for a thread
 * that hangs in a name look-up. No timer and no thread of the process could do that; a small shell beside it does. If the shell
 * cannot be started, nothing happens: the process then relies on its own deadlines.
 */
export function endAtTheLatestIn(ms: number): void {
  try {
    // The shell has a session of its own, so that a signal to our process group does not end it too early.
    const guard: ChildProcess = spawn('/bin/sh', ['-c', GUARD, 'sh', (ms / 1000).toFixed(3), String(process.pid)], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    guard.on('error', () => undefined);
    guard.stdin?.on('error', () => undefined);
    guard.unref();
    (guard.stdin as unknown as { unref?(): void } | null)?.unref?.();
  } catch {
    // No process can be started: only the deadlines in this process are left.
  }
}

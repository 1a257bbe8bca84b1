/** Keeps child processes from outliving us, also when we are killed with -9 and can no longer do anything about it. */
import { spawn } from 'node:child_process';

/**
 * Reads `+PID SIGNAL` and `-PID` line by line. When the pipe closes, because its writer has ended in whatever way, the
 * processes still on the list get their signal, the last one added first; and those that were to end by TERM, and still
 * run after $1 seconds, are killed.
 */
const WATCH = `
list=
while read -r word signal; do
  pid=\${word#?}
  case $word in
    +*) list="$pid:$signal $list" ;;
    -*) kept=; for entry in $list; do [ "\${entry%%:*}" = "$pid" ] || kept="$kept$entry "; done; list=$kept ;;
  esac
done
for entry in $list; do kill -"\${entry#*:}" "\${entry%%:*}" 2>/dev/null; done
left=$1
while [ "$left" -gt 0 ]; do
  running=
  for entry in $list; do case $entry in *:TERM) kill -0 "\${entry%%:*}" 2>/dev/null && running="$running$entry " ;; esac; done
  [ -z "$running" ] && exit
  sleep 1
  left=$((left - 1))
done
for entry in $running; do kill -KILL "\${entry%%:*}" 2>/dev/null; done
`;

/** How long a child that is to end by TERM may take once nobody is left to wait for it. */
const PATIENCE_S = 15;

/** A shell, started when the first child is tied to it, that outlives us by a moment. */
export class Tether {
  /** @type {import('node:child_process').ChildProcess | undefined} */
  #watcher;

  /** @param {number} [patienceS] */
  constructor(patienceS = PATIENCE_S) {
    this.patienceS = patienceS;
  }

  /**
   * Ties a child to the life of this process; a child that ends by itself is untied.
   * @param {import('node:child_process').ChildProcess} child
   * @param {'INT' | 'TERM' | 'KILL'} signal what it gets when this process is gone
   */
  tie(child, signal) {
    if (child.pid === undefined) return;
    const pid = child.pid;
    this.#write(`+${pid} ${signal}`);
    child.once('exit', () => this.#write(`-${pid}`));
  }

  /** @param {string} line */
  #write(line) {
    if (!this.#watcher) {
      // A session of its own, so that neither Ctrl-C nor the end of our process group reaches it.
      this.#watcher = spawn('/bin/sh', ['-c', WATCH, 'sh', String(this.patienceS)], {
        stdio: ['pipe', 'ignore', 'ignore'],
        detached: true,
      });
      this.#watcher.stdin?.on('error', () => {});
      this.#watcher.on('error', () => {});
      this.#watcher.unref();
      /** @type {import('node:net').Socket} */ (this.#watcher.stdin).unref();
    }
    this.#watcher.stdin?.write(`${line}\n`);
  }
}

/** npm start is npm, perhaps a shell, and then us. When npm is killed it cannot tell us; nobody is left to press Ctrl-C. */
import { commandOf, isAlive, parentOf } from './processes.mjs';

const LOOK_EVERY_MS = 500;

/**
 * Calls back once when the npm that started this process has gone. Does nothing for a process that npm did not start: it may
 * well be meant to outlive its shell.
 * @param {() => void} then
 */
export function whenCallerIsGone(then) {
  if (process.env['npm_lifecycle_event'] === undefined) return;
  const parent = process.ppid;
  const throughShell = /^\S*sh(\s|$)/.test(commandOf(parent));
  const npm = throughShell ? parentOf(parent) : parent;
  const timer = setInterval(() => {
    if (process.ppid === parent && (npm === undefined || isAlive(npm))) return;
    clearInterval(timer);
    then();
  }, LOOK_EVERY_MS);
  timer.unref();
}

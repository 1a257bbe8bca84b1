/** Brings node_modules in line with package-lock.json, when it is not. */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withLock } from './lock.mjs';
import { isMain, ROOT } from './paths.mjs';
import { Tether } from './tether.mjs';

const LOCKFILE = join(ROOT, 'package-lock.json');
const MODULES = join(ROOT, 'node_modules');
/** Written by npm at the end of an install. */
const INSTALLED = join(MODULES, '.package-lock.json');
/** Written by us: the lockfile that was installed, by its hash. */
const MARK = join(MODULES, '.tollgate-lockfile');

const OLDEST_NODE = [20, 19];

/** @throws {Error} when this Node is older than package.json's engines */
export function demandNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major > /** @type {number} */ (OLDEST_NODE[0]) || (major === OLDEST_NODE[0] && minor >= /** @type {number} */ (OLDEST_NODE[1])))
    return;
  throw new Error(`Tollgate needs Node ${OLDEST_NODE.join('.')} or later; this is ${process.versions.node}.`);
}

/**
 * Runs `npm ci` if something is missing. Takes seconds to a minute then, and a millisecond otherwise.
 * @param {(line: string) => void} say
 * @returns {Promise<boolean>} whether something was installed
 * @throws {Error} with what npm said
 */
export async function installMissing(say) {
  if (isComplete()) return false;
  return withLock(join(ROOT, '.tollgate', 'install.lock'), 300_000, async () => {
    if (isComplete()) return false;
    await npmCi(say);
    writeFileSync(MARK, lockfileHash());
    return true;
  });
}

function isComplete() {
  if (!existsSync(INSTALLED)) return false;
  if (existsSync(MARK)) return readFileSync(MARK, 'utf8') === lockfileHash();
  // Installed by hand. The lockfile is newer after an update or a change of branch.
  return statSync(INSTALLED).mtimeMs >= statSync(LOCKFILE).mtimeMs;
}

const lockfileHash = () => createHash('sha256').update(readFileSync(LOCKFILE)).digest('hex');

/** @param {(line: string) => void} say */
async function npmCi(say) {
  const startedMs = Date.now();
  const seconds = () => `${Math.round((Date.now() - startedMs) / 1000)} s`;
  say('Installing the packages of package-lock.json (npm ci) ...');
  const progress = setInterval(() => say(`  still installing, ${seconds()}`), 10_000);
  try {
    // The same npm that called us, if one did. NODE_ENV=production must not leave out what the commands need.
    const npm = process.env['npm_execpath'];
    const [command, ...args] = npm && /\.c?js$/.test(npm) ? [process.execPath, npm] : ['npm'];
    const child = spawn(/** @type {string} */ (command), [...args, 'ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'], {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    // Two that install into one folder would spoil it, so none goes on when we are gone, in whatever way. npm does not end by TERM meanwhile.
    new Tether().tie(child, 'KILL');
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => (output = (output + text).slice(-8000)));
    const failure = await new Promise((resolve) => {
      child.once('error', (error) => resolve(error.message));
      child.once('close', (code, signal) => resolve(code === 0 ? undefined : `npm ci ended with ${signal ?? `code ${code}`}`));
    });
    if (failure !== undefined) throw new Error(`The packages could not be installed: ${failure}.\n${output.trim()}`);
    say(`Installed in ${seconds()}.`);
  } finally {
    clearInterval(progress);
  }
}

if (isMain(import.meta.url)) {
  try {
    demandNode();
    if (!(await installMissing(console.log))) console.log('All packages of package-lock.json are installed.');
  } catch (error) {
    console.error(/** @type {Error} */ (error).message);
    process.exitCode = 1;
  }
}

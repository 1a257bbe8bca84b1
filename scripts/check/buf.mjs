/** buf, the linter of protobuf files. Where it cannot be had, the check is skipped, and says so. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, TOOLS } from '../paths.mjs';

/** @typedef {import('../check.mjs').Outcome} Outcome */

const VERSION = '1.75.0';
const FOLDER = join(TOOLS, `buf-${VERSION}`);
const INSTALL_MS = 120_000;

/** The package of npm that has the program for this machine; those who only run Tollgate need not load its 90 MB. */
const PACKAGE = `@bufbuild/buf-${process.platform}-${process.platform === 'linux' && process.arch === 'arm64' ? 'aarch64' : process.arch}`;
const PROGRAM = join(FOLDER, 'node_modules', ...PACKAGE.split('/'), 'bin', 'buf');

/** @returns {Outcome} */
export function buf() {
  if (!existsSync(PROGRAM) && !install())
    return { skipped: `buf ${VERSION} could not be installed: that takes the network, and a package for this machine` };
  return { ok: succeeds(PROGRAM, ['lint']) };
}

function install() {
  mkdirSync(FOLDER, { recursive: true });
  const quiet = ['--silent', '--no-audit', '--no-fund', '--no-save', '--ignore-scripts'];
  return succeeds('npm', ['install', ...quiet, '--prefix', FOLDER, `${PACKAGE}@${VERSION}`]) && existsSync(PROGRAM);
}

/**
 * @param {string} program
 * @param {string[]} args
 */
const succeeds = (program, args) => spawnSync(program, args, { cwd: ROOT, stdio: 'inherit', timeout: INSTALL_MS }).status === 0;

/** Packages of Debian and Ubuntu, unpacked where our tools lie: needs no root, and installs nothing. */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TOOLS } from '../paths.mjs';
import { findProgram } from '../processes.mjs';

const STEP_TIMEOUT_MS = 120_000;

export const isRoot = () => process.getuid?.() === 0;

/** @param {string} program */
export const onPath = (program) => findProgram([program]) !== undefined;

/**
 * Unpacks packages of the system where our tools lie, if it is one that has them. What came of it, the caller sees.
 * @param {string[]} packages
 * @param {string[]} [only] these of their files or folders
 */
export function fetchFromDebian(packages, only) {
  if (!onPath('apt-get') || !onPath('dpkg')) return;
  // A fresh image of a system has no lists of packages, and only root may fetch them.
  if (unpack(packages, only) && isRoot()) {
    run('apt-get', ['update', '-qq']);
    unpack(packages, only);
  }
}

/**
 * Unpacks packages of the system where our tools lie, without installing them.
 * @param {string[]} packages
 * @param {string[]} [only] these of their files or folders
 * @returns {string | undefined} why it failed
 */
export function unpack(packages, only = ['.']) {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-tools-'));
  try {
    const failure = run('apt-get', ['download', ...packages], {}, folder);
    if (failure) return failure;
    const unpacked = join(folder, 'unpacked');
    for (const file of readdirSync(folder).filter((name) => name.endsWith('.deb'))) {
      const broken = run('dpkg', ['-x', join(folder, file), unpacked]);
      if (broken) return broken;
    }
    mkdirSync(TOOLS, { recursive: true });
    for (const place of only.filter((each) => existsSync(join(unpacked, each))))
      cpSync(join(unpacked, place), join(TOOLS, place), { recursive: true, verbatimSymlinks: true });
    return undefined;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * The libraries' packages that packages need, and those that they need, which this system has not installed.
 * @param {string[]} of
 * @returns {Set<string>}
 */
export function missingLibraries(...of) {
  /** @type {Set<string>} */
  const missing = new Set();
  // A generation at a time: each look into the lists takes a third of a second.
  for (let names = of; names.length > 0;) {
    const { stdout } = spawnSync('apt-cache', ['depends', '--important', ...names], { encoding: 'utf8' });
    const needed = new Set([...stdout.matchAll(/^  (?:Pre)?Depends: (lib\S+)$/gm)].map(([, name = '']) => name));
    names = notInstalled([...needed].filter((name) => !missing.has(name)));
    for (const name of names) missing.add(name);
  }
  return missing;
}

/** @param {string[]} names */
function notInstalled(names) {
  if (names.length === 0) return [];
  // eslint-disable-next-line no-template-curly-in-string -- dpkg's own language
  const { stdout } = spawnSync('dpkg-query', ['--show', '--showformat=${Package} ${Status}\n', ...names], { encoding: 'utf8' });
  const installed = new Set([...stdout.matchAll(/^(\S+) .*\binstalled$/gm)].map(([, name = '']) => name));
  return names.filter((name) => !installed.has(name));
}

/**
 * A program that was unpacked rather than installed finds its libraries beside it, once it is told so.
 * @param {string} program
 * @returns {Record<string, string>} variables to add to its environment
 */
export function librariesOf(program) {
  if (!program.startsWith(TOOLS)) return {};
  const arch = { x64: 'x86_64-linux-gnu', arm64: 'aarch64-linux-gnu' }[/** @type {string} */ (process.arch)] ?? '';
  const folders = [join(TOOLS, 'usr', 'lib', arch), join(TOOLS, 'lib', arch)];
  return { LD_LIBRARY_PATH: [...folders, process.env['LD_LIBRARY_PATH']].filter(Boolean).join(':') };
}

/**
 * @param {string} command
 * @param {string[]} args
 * @param {Record<string, string>} [env]
 * @param {string} [cwd]
 * @returns {string | undefined} why it failed
 */
export function run(command, args, env = {}, cwd = '/') {
  const result = spawnSync(command, args, { cwd, env: { ...process.env, ...env }, encoding: 'utf8', timeout: STEP_TIMEOUT_MS });
  if (result.status === 0) return undefined;
  return (result.stderr || result.error?.message || `${command} ended with ${result.signal ?? result.status}`)
    .trim()
    .split('\n')
    .slice(-2)
    .join(' ');
}

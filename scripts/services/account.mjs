/** Under which account, and in which place, a server may run that refuses to run as root. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chownSync, lstatSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** @typedef {{ uid: number, gid: number }} Account */

/**
 * The account to run PostgreSQL under: undefined for our own, which is right unless we are root.
 * @returns {Account | undefined}
 */
export function unprivilegedAccount() {
  if (process.getuid?.() !== 0) return undefined;
  const lines = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  for (const name of ['postgres', 'nobody']) {
    const line = lines.find((fields) => fields[0] === name);
    if (line && Number(line[2]) > 0) return { uid: Number(line[2]), gid: Number(line[3]) };
  }
  throw new Error(
    'PostgreSQL does not run as root, and this system has neither a user "postgres" nor "nobody" to run it as. Set DATABASE_URL, or start as another user.',
  );
}

/**
 * Whether the account gets into a directory; those above it may be closed, as root's home usually is.
 * @param {string} directory
 * @param {Account | undefined} account
 */
export function canEnter(directory, account) {
  return (
    account === undefined ||
    spawnSync('/bin/sh', ['-c', 'cd "$1"', 'sh', directory], { ...account, cwd: '/', stdio: 'ignore' }).status === 0
  );
}

/**
 * A directory that every account gets into, the same each time for the same owner.
 * @param {string} of the directory that it stands in for
 * @returns {string}
 * @throws {Error} when somebody else made it before us
 */
export function openPlace(of) {
  const directory = join('/var/tmp', `tollgate-${createHash('sha256').update(of).digest('hex').slice(0, 12)}`);
  mkdirSync(directory, { recursive: true, mode: 0o755 });
  const found = lstatSync(directory);
  if (!found.isDirectory() || found.uid !== process.getuid?.())
    throw new Error(`${directory} belongs to somebody else. Remove it, or set DATABASE_URL.`);
  return directory;
}

/**
 * Where the account can keep its data: in the wanted directory, or outside when it does not get there.
 * @param {string} wanted an existing directory
 * @param {Account | undefined} account
 * @returns {string}
 */
export const placeFor = (wanted, account) => (canEnter(wanted, account) ? wanted : openPlace(wanted));

/**
 * Makes a directory that belongs to the account alone, as PostgreSQL demands.
 * @param {string} directory
 * @param {Account | undefined} account
 */
export function makeOwnDirectory(directory, account) {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  if (account) chownSync(directory, account.uid, account.gid);
}

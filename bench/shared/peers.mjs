/** What Tollgate is compared with, installed on demand into bench/peers: no part of the product depends on it. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../scripts/paths.mjs';

const PEERS = join(ROOT, 'bench', 'peers');
const LOCKFILE = join(PEERS, 'package-lock.json');
const MARK = join(PEERS, 'node_modules', '.tollgate-lockfile');
const INSTALL_TIMEOUT_MS = 600_000;

/**
 * Runs `npm ci` in bench/peers unless that was done for this lockfile already.
 * @param {import('./workshop.mjs').Workshop} workshop
 * @param {(line: string) => void} say
 */
export async function installPeers(workshop, say) {
  const hash = createHash('sha256').update(readFileSync(LOCKFILE)).digest('hex');
  if (existsSync(MARK) && readFileSync(MARK, 'utf8') === hash) return;
  say('installing what Tollgate is compared with (npm ci in bench/peers), which can take minutes ...');
  const npm = process.env['npm_execpath'];
  const [program, args] = npm && /\.c?js$/.test(npm) ? [process.execPath, [npm]] : ['npm', []];
  const job = workshop.start(program, {
    args: [...args, 'ci', '--prefix', PEERS, '--no-audit', '--no-fund', '--loglevel=error'],
    env: definedEnvironment(),
  });
  const timer = setTimeout(() => void job.stop(), INSTALL_TIMEOUT_MS);
  await job.ended.finally(() => clearTimeout(timer));
  if (!existsSync(join(PEERS, 'node_modules', '.package-lock.json')))
    throw new Error(`npm ci in bench/peers took longer than ${INSTALL_TIMEOUT_MS / 60_000} minutes`);
  writeFileSync(MARK, hash);
}

/** npm finds its registry and certificates there. */
function definedEnvironment() {
  return /** @type {Record<string, string>} */ (Object.fromEntries(Object.entries(process.env).filter(([, value]) => value !== undefined)));
}

/** @param {string} name */
export const peerScript = (name) => join(PEERS, name);

/** Before the first integration or end-to-end test: the apps are built, a PostgreSQL and a Redis run. */
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from '../../scripts/build.mjs';
import { placeFor, unprivilegedAccount } from '../../scripts/services/account.mjs';
import { startPostgres } from '../../scripts/services/postgres.mjs';
import { findRedisServer, startRedis } from '../../scripts/services/redis.mjs';
import { Tether } from '../../scripts/tether.mjs';

const OLD_MS = 6 * 3_600_000;

export default async function globalSetup() {
  const tether = new Tether();
  /** @type {(() => Promise<void> | void)[]} undone by global-teardown.mjs, the last one first */
  const undo = [];
  Object.assign(globalThis, { tollgateTestUndo: undo });

  await build();
  if (process.env['TEST_DATABASE_URL']) {
    process.env['TOLLGATE_TEST_POSTGRES'] = process.env['TEST_DATABASE_URL'];
  } else {
    const parent = placeFor(tmpdir(), unprivilegedAccount());
    sweep(parent);
    const place = mkdtempSync(join(parent, 'tollgate-test-'));
    chmodSync(place, 0o755);
    undo.push(() => rmSync(place, { recursive: true, force: true }));
    const postgres = await startPostgres({
      directory: join(place, 'postgres'),
      passwordFile: join(place, 'password'),
      tether,
      throwaway: true,
    });
    undo.push(postgres.stop);
    process.env['TOLLGATE_TEST_POSTGRES'] = postgres.url('postgres');
  }

  const program = findRedisServer();
  if (program) {
    const redis = await startRedis({ program, tether });
    undo.push(redis.stop);
    process.env['TOLLGATE_TEST_REDIS'] = redis.url;
  }
}

/**
 * Removes what runs that were killed have left. Their servers have ended with them; no run takes as long as this.
 * @param {string} parent
 */
function sweep(parent) {
  for (const name of readdirSync(parent).filter((entry) => entry.startsWith('tollgate-test-'))) {
    const place = join(parent, name);
    if (Date.now() - (statSync(place, { throwIfNoEntry: false })?.mtimeMs ?? Infinity) > OLD_MS)
      rmSync(place, { recursive: true, force: true });
  }
}

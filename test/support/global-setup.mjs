/** Before the first integration or end-to-end test: the apps are built, a PostgreSQL and a Redis run. */
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { build } from '../../scripts/build.mjs';
import { DIST } from '../../scripts/paths.mjs';
import { placeFor, unprivilegedAccount } from '../../scripts/services/account.mjs';
import { startPostgres } from '../../scripts/services/postgres.mjs';
import { findRedisServer, startRedis } from '../../scripts/services/redis.mjs';
import { Tether } from '../../scripts/tether.mjs';
import { KEPT_DATABASES } from './kept-rules-api.mjs';

const OLD_MS = 6 * 3_600_000;

export default async function globalSetup() {
  // npm test starts them once for all of its runs of Jest.
  if (process.env['TOLLGATE_TEST_MIGRATED_DATABASE']) return;
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
  await migrateOne(process.env['TOLLGATE_TEST_POSTGRES'], undo);

  const program = findRedisServer();
  if (program) {
    const redis = await startRedis({ program, tether });
    undo.push(redis.stop);
    process.env['TOLLGATE_TEST_REDIS'] = redis.url;
  }
}

/**
 * Makes the database of which tests get copies.
 * @param {string} server
 * @param {(() => Promise<void> | void)[]} undo
 */
async function migrateOne(server, undo) {
  const name = `migrated_${randomBytes(8).toString('hex')}`;
  const onServer = async (/** @type {string} */ statement) => {
    const client = new pg.Client({ connectionString: server });
    await client.connect();
    return client.query(statement).finally(() => client.end());
  };
  await onServer(`CREATE DATABASE ${name}`);
  undo.push(async () => {
    const { rows } = await onServer(
      `SELECT datname FROM pg_database WHERE datname = '${name}' OR starts_with(datname, '${KEPT_DATABASES}${name}')`,
    );
    for (const { datname } of rows) await onServer(`DROP DATABASE IF EXISTS ${datname} WITH (FORCE)`);
  });
  const url = new URL(server);
  url.pathname = `/${name}`;
  // Its types are those of the sources, which the scripts do not import; nothing of this is used but the two functions.
  const { createDataSource, migrate } = await import(join(DIST, 'libs', 'rules-db', 'src', 'index.js'));
  const dataSource = createDataSource(url.href);
  await migrate(dataSource);
  // PostgreSQL copies only what nobody is connected to.
  if (dataSource.isInitialized) await dataSource.destroy();
  process.env['TOLLGATE_TEST_MIGRATED_DATABASE'] = name;
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

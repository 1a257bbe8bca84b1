/**
 * A Rules API with the usual settings that a worker of Jest starts once and keeps for all its test files. Each file gets it empty, as if it had
 * just been started on a new database.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { bundleOf } from '../../scripts/paths.mjs';
import { freePort } from '../../scripts/ports.mjs';
import { Tether } from '../../scripts/tether.mjs';
import { PATIENCE } from './patience.mjs';

/** Databases of kept apps begin with this, and with the name of the run, which drops them at its end. */
export const KEPT_DATABASES = 'kept_';

const READY_WITHIN_MS = 60_000 * PATIENCE;
/** What the Rules API does by itself may hold locks that stand in the way. */
const DEADLOCK = '40P01';

/**
 * @typedef {{ url: string, databaseUrl: string, logs: (Record<string, unknown> & { msg?: string })[] }} KeptRulesApi
 * @typedef {KeptRulesApi & { hasEnded(): boolean, empty(): Promise<void> }} Kept
 */

const tether = new Tether();
/** @type {Promise<Kept> | undefined} */
let kept;

/**
 * @param {string} adminToken
 * @returns {Promise<KeptRulesApi>} empty; what it has logged until now is forgotten
 */
export async function keptRulesApi(adminToken) {
  let api = await kept?.catch(() => undefined);
  // A test may have ended it, by whatever fault: the next file shall not suffer.
  if (!api || api.hasEnded()) api = await (kept = start(adminToken));
  await api.empty();
  api.logs.length = 0;
  return api;
}

/**
 * @param {string} adminToken
 * @returns {Promise<Kept>}
 */
async function start(adminToken) {
  const databaseUrl = await createDatabase();
  const port = await freePort();
  const child = spawn(process.execPath, ['--enable-source-maps', bundleOf('rules-api')], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], DATABASE_URL: databaseUrl, RULES_API_PORT: String(port), TOLLGATE_ADMIN_TOKEN: adminToken },
  });
  tether.tie(child, 'KILL');
  /** @type {KeptRulesApi['logs']} */
  const logs = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => logs.push(parsed(line)));
    // It is kept for the worker, and must not keep the worker.
    /** @type {import('node:net').Socket} */ (stream).unref();
  }
  child.unref();
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  const url = `http://127.0.0.1:${port}`;
  await untilReady(url, hasEnded, logs);
  return { url, databaseUrl, logs, hasEnded, empty: await emptying(databaseUrl) };
}

/** @param {string} line */
function parsed(line) {
  try {
    return JSON.parse(line);
  } catch {
    return { msg: line };
  }
}

/**
 * @param {string} url
 * @param {() => boolean} hasEnded
 * @param {KeptRulesApi['logs']} logs
 */
async function untilReady(url, hasEnded, logs) {
  const isReady = async () => {
    const answer = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000 * PATIENCE) });
    await answer.arrayBuffer();
    return answer.ok;
  };
  for (const endMs = performance.now() + READY_WITHIN_MS; !(await isReady().catch(() => false)); await sleep(10)) {
    if (!hasEnded() && performance.now() < endMs) continue;
    throw new Error(
      `the kept Rules API was not ready in time:\n${logs
        .slice(-15)
        .map((line) => JSON.stringify(line))
        .join('\n')}`,
    );
  }
}

/** @returns {Promise<string>} the address of a new migrated database, which global-teardown.mjs drops */
async function createDatabase() {
  const { TOLLGATE_TEST_POSTGRES: server, TOLLGATE_TEST_MIGRATED_DATABASE: template } = process.env;
  if (!server || !template) throw new Error('No PostgreSQL was started for this test; only the integration and e2e projects have one.');
  const name = `${KEPT_DATABASES}${template}_${randomBytes(4).toString('hex')}`;
  await onDatabase(server, (client) => client.query(`CREATE DATABASE ${name} TEMPLATE ${template}`));
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

/**
 * @template T
 * @param {string} url
 * @param {(client: pg.Client) => Promise<T>} work
 */
async function onDatabase(url, work) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/**
 * Remembers what stands in a database.
 * @param {string} url
 * @returns {Promise<() => Promise<void>>} makes it so again
 */
async function emptying(url) {
  const statements = await onDatabase(url, async (client) => {
    const { rows } = await client.query(`SELECT format('%I', tablename) AS name FROM pg_tables WHERE schemaname = current_schema()`);
    const names = rows.map(({ name }) => /** @type {string} */ (name)).filter((name) => name !== 'migrations');
    const inserts = [];
    for (const name of names) {
      const [{ content }] = (await client.query(`SELECT json_agg(t)::text AS content FROM ${name} t`)).rows;
      if (content !== null)
        inserts.push(
          `INSERT INTO ${name} OVERRIDING SYSTEM VALUE SELECT * FROM json_populate_recordset(NULL::${name}, ${client.escapeLiteral(content)})`,
        );
    }
    // Without triggers: nobody may empty the audit otherwise.
    return [
      'BEGIN',
      'SET LOCAL session_replication_role = replica',
      `TRUNCATE ${names.join()} RESTART IDENTITY`,
      ...inserts,
      'COMMIT',
    ].join(';');
  });
  const empty = async () => onDatabase(url, (client) => client.query(statements)).then(() => {});
  return () => empty().catch((error) => (error.code === DEADLOCK ? empty() : Promise.reject(error)));
}

/** What the benchmark of apply stands on: a document of rules, a Rules API on a database of its own, and plain INSERTs of the same rules. */
import pg from 'pg';
import { bundleOf } from '../../scripts/paths.mjs';
import { freePort } from '../../scripts/ports.mjs';
import { cpuSeconds, cpuSecondsOfFamily, MemorySampler } from './proc.mjs';

const TOKEN = 'admin-token-of-the-benchmarks';
const RULES_OF_A_MERCHANT = 10;
const TIMEOUT_MS = 600_000;
const START_TIMEOUT_MS = 60_000;

/**
 * A document with so many rules, ten of each merchant.
 * @param {number} rules
 * @param {{ priority?: number, prefix?: string }} [changes] prefix: of the merchants' ids
 */
export function documentOf(rules, { priority = 100, prefix = 'm' } = {}) {
  const merchants = Array.from({ length: rules / RULES_OF_A_MERCHANT }, (_, i) => ({
    id: `${prefix}${String(i).padStart(12, '0')}`,
    name: `Merchant ${i}`,
    timeZone: 'Europe/Berlin',
    rules: Array.from({ length: RULES_OF_A_MERCHANT }, (_each, n) => ruleOf(n, priority)),
  }));
  return { version: 1, merchants };
}

/** @param {number} n @param {number} priority */
const ruleOf = (n, priority) => ({
  name: `transactions ${n}`,
  priority,
  match: { methods: ['GET', 'POST'], paths: [`/transactions/${n}/**`] },
  limits: [
    { name: 'steady', algorithm: 'token_bucket', capacity: 1000, refillTokens: 100, refillIntervalMs: 1000 },
    { name: 'a day', algorithm: 'fixed_window', limit: 100_000, calendar: 'day' },
  ],
});

/**
 * A Rules API on a new database, ready.
 * @param {import('./workshop.mjs').Workshop} workshop
 * @param {{ url: string, pid: number }} postgres
 * @param {string} name of the database
 */
export async function startApi(workshop, postgres, name) {
  const admin = new pg.Client({ connectionString: postgres.url });
  await admin.connect();
  await admin.query(`CREATE DATABASE ${name}`);
  await admin.end();
  const databaseUrl = new URL(postgres.url);
  databaseUrl.pathname = `/${name}`;
  const port = await freePort();
  const job = workshop.node(bundleOf('rules-api'), {
    measured: true,
    env: { DATABASE_URL: databaseUrl.href, RULES_API_PORT: String(port), TOLLGATE_ADMIN_TOKEN: TOKEN },
  });
  await job.line((line) => line.includes('migrated and ready'), START_TIMEOUT_MS);
  return { url: `http://127.0.0.1:${port}`, databaseUrl: databaseUrl.href, pid: job.pid, stop: () => job.stop() };
}

/**
 * @typedef {object} Applied
 * @property {number} seconds
 * @property {number} apiCpuSeconds
 * @property {number} postgresCpuSeconds
 * @property {number} peakBytes of the Rules API
 * @property {number} risenBytes how much more that is than before
 * @property {number} documentBytes
 */

/**
 * Applies a document and demands a number of changes.
 * @param {{ url: string, pid: number }} api
 * @param {{ pid: number }} postgres
 * @param {unknown} document
 * @param {number} changes
 * @returns {Promise<Applied>}
 */
export async function apply(api, postgres, document, changes) {
  const body = JSON.stringify(document);
  const before = { api: cpuSeconds(api.pid) ?? NaN, postgres: cpuSecondsOfFamily(postgres.pid) };
  const memory = new MemorySampler(api.pid);
  const startedMs = performance.now();
  const answer = await fetch(`${api.url}/v1/apply`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    body,
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const text = await answer.text();
  const seconds = (performance.now() - startedMs) / 1000;
  const samples = memory.stop();
  if (answer.status !== 200) throw new Error(`apply answered ${answer.status}: ${text.slice(0, 300)}`);
  const made = JSON.parse(text).changes.length;
  if (made !== changes) throw new Error(`apply made ${made} changes, not ${changes}`);
  const peakBytes = Math.max(...samples);
  return {
    seconds,
    apiCpuSeconds: (cpuSeconds(api.pid) ?? NaN) - before.api,
    postgresCpuSeconds: cpuSecondsOfFamily(postgres.pid) - before.postgres,
    peakBytes,
    risenBytes: peakBytes - (samples[0] ?? NaN),
    documentBytes: Buffer.byteLength(body),
  };
}

/**
 * What a loop would do that inserts the same rules into a table like that of the rules, one after the other, in one transaction.
 * @param {string} databaseUrl
 * @param {ReturnType<typeof documentOf>} document
 * @returns {Promise<{ seconds: number }>}
 */
export async function plainInserts(databaseUrl, document) {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query('CREATE TABLE IF NOT EXISTS plain_rule (LIKE rule INCLUDING ALL)');
  const startedMs = performance.now();
  await client.query('BEGIN');
  for (const { id, rules } of document.merchants) {
    for (const { name, priority, match, limits } of rules) {
      await client.query(
        `INSERT INTO plain_rule (merchant_id, name, layer, priority, enabled, mode, match, key, limits, cost, on_store_failure, version)
         VALUES ($1, $2, 'merchant', $3, true, 'enforce', $4, '["merchant"]', $5, 1, 'local', 1)`,
        [id, name, priority, JSON.stringify(match), JSON.stringify(limits)],
      );
    }
  }
  await client.query('COMMIT');
  const seconds = (performance.now() - startedMs) / 1000;
  await client.query('DROP TABLE plain_rule');
  await client.end();
  return { seconds };
}

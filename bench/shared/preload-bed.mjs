/** What the preloading benchmarks stand on: keys to compare with, and a database full of merchants. */
import { createWriteStream } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import pg from 'pg';
import { createRedis, snapshotKey } from '#limiter-redis';
import { createDataSource, migrate } from '#rules-db';
import { bucketKeyOf, merchantId, ruleOf } from './merchants.mjs';
import { redisTool } from './workshop.mjs';

const CHUNK = 1000;
const TTL_MS = 3_600_000;

/**
 * Writes what lies in Redis as commands for redis-cli --pipe: the very same keys and values, in the order of the merchants.
 * @param {import('./workshop.mjs').Workshop} workshop
 * @param {string} redisUrl
 * @param {number} merchants
 * @param {'all' | 'buckets'} what
 * @returns {Promise<{ file: string, keys: number }>}
 */
export async function writeCommands(workshop, redisUrl, merchants, what) {
  const redis = createRedis(redisUrl, 'queue-worker');
  const file = join(workshop.directory(), `${what}.resp`);
  const out = createWriteStream(file, { highWaterMark: 1 << 20 });
  let keys = 0;
  for (let first = 0; first < merchants; first += CHUNK) {
    const indexes = Array.from({ length: Math.min(CHUNK, merchants - first) }, (_, i) => first + i);
    const names = [...(what === 'all' ? indexes.map((i) => snapshotKey(merchantId(i))) : []), ...indexes.map(bucketKeyOf)];
    const values = await redis.mget(names);
    const text = names.map((name, i) => command(['SET', name, present(values[i], name), 'PX', String(TTL_MS)])).join('');
    keys += names.length;
    if (!out.write(text)) await once(out, 'drain');
  }
  out.end();
  await once(out, 'finish');
  redis.disconnect();
  return { file, keys };
}

/** @param {string | null | undefined} value @param {string} name */
function present(value, name) {
  if (value === null || value === undefined) throw new Error(`${name} was not preloaded`);
  return value;
}

/** @param {string[]} words */
const command = (words) => `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`;

/**
 * How long redis-cli --pipe takes.
 * @param {import('./workshop.mjs').Workshop} workshop
 * @param {number} port
 * @param {{ file: string, keys: number }} commands
 * @returns {Promise<{ seconds: number }>}
 */
export async function pipe(workshop, port, { file, keys }) {
  const { program, env } = redisTool('redis-cli');
  const startedMs = performance.now();
  const job = workshop.start(program, { measured: true, env, args: ['-p', String(port), '--pipe'], stdin: file });
  const line = await job.line((text) => text.startsWith('errors:'), 300_000);
  await job.ended;
  const seconds = (performance.now() - startedMs) / 1000;
  if (line !== `errors: 0, replies: ${keys}`) throw new Error(`redis-cli --pipe: ${line}, expected ${keys} replies`);
  return { seconds };
}

/**
 * Fills an empty database with merchants that have one rule each.
 * @param {string} url
 * @param {number} merchants
 */
export async function fillDatabase(url, merchants) {
  const dataSource = await createDataSource(url).initialize();
  await migrate(dataSource);
  await dataSource.destroy();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const id = "'m' || lpad(i::text, 12, '0')";
  await client.query(
    `INSERT INTO merchant (id, name, time_zone, version, rules_version)
     SELECT ${id}, 'Merchant ' || i, 'Europe/Berlin', 1, 1 FROM generate_series(0, $1::int - 1) AS i`,
    [merchants],
  );
  const { name, layer, priority, mode, match, key, limits, cost, onStoreFailure } = ruleOf(0);
  await client.query(
    `INSERT INTO rule (merchant_id, name, layer, priority, enabled, mode, match, key, limits, cost, on_store_failure, version)
     SELECT ${id}, $2, $3, $4, true, $5, $6, $7, $8, $9, $10, 1 FROM generate_series(0, $1::int - 1) AS i`,
    [merchants, name, layer, priority, mode, JSON.stringify(match), JSON.stringify(key), JSON.stringify(limits), cost, onStoreFailure],
  );
  await client.query('VACUUM ANALYZE');
  await client.end();
}

/** @param {string} url @returns {Promise<number>} what the database takes on disk, without the write-ahead log */
export async function databaseBytes(url) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query('SELECT pg_database_size(current_database()) AS bytes');
  await client.end();
  return Number(rows[0].bytes);
}

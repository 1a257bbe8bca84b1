/** The PostgreSQL and the Redis of a run: those of the environment, or our own. */
import { createRequire } from 'node:module';
import { LogFile } from './log-file.mjs';
import { startPostgres } from '../services/postgres.mjs';
import { findRedisServer, startRedis, startStandIn } from '../services/redis.mjs';

const DATABASE = 'tollgate';
const CONNECT_TIMEOUT_MS = 5_000;

/** From the root's node_modules, which did not exist yet when this module was loaded. */
const require = createRequire(import.meta.url);

/**
 * @typedef {{ url: string, what: string, part?: import('./child.mjs').Part, notice?: string }} Service
 */

/**
 * @param {string | undefined} given DATABASE_URL
 * @param {import('./state.mjs').State} state
 * @param {import('../tether.mjs').Tether} tether
 * @returns {Promise<Service & { empty: boolean }>}
 */
export async function postgresOf(given, state, tether) {
  if (given) {
    return { url: given, what: 'PostgreSQL of DATABASE_URL', empty: await isEmpty(given) };
  }
  const log = new LogFile(`${state.logs}/postgres.log`);
  const directory = await state.postgresDirectory();
  const server = await startPostgres({ directory, passwordFile: state.passwordFile, tether, onLog: (text) => log.write(text) });
  await createDatabase(server.url('postgres'));
  const url = server.url(DATABASE);
  return {
    url,
    what: `PostgreSQL, embedded, on port ${server.port}, data in ${directory}`,
    part: { name: 'PostgreSQL', ...server },
    empty: await isEmpty(url),
  };
}

/**
 * Whether no migration has run in a database yet.
 * @param {string} url
 * @returns {Promise<boolean>}
 */
async function isEmpty(url) {
  const client = await connectedClient(url);
  try {
    const { rows } = await client.query("SELECT to_regclass('migrations') IS NULL AS empty");
    return rows[0].empty;
  } finally {
    await client.end();
  }
}

/** @param {string} url */
async function createDatabase(url) {
  const client = await connectedClient(url);
  try {
    const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [DATABASE]);
    if (rowCount === 0) await client.query(`CREATE DATABASE ${DATABASE}`);
  } finally {
    await client.end();
  }
}

/**
 * @param {string} url
 * @returns {Promise<import('pg').Client>}
 */
async function connectedClient(url) {
  const { Client } = require('pg');
  const client = new Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  client.on('error', () => {});
  try {
    await client.connect();
    return client;
  } catch (error) {
    await client.end().catch(() => {});
    throw new Error(`PostgreSQL cannot be reached at ${withoutPassword(url)} (DATABASE_URL): ${reasonOf(error)}`);
  }
}

/**
 * @param {string | undefined} given REDIS_URL
 * @param {import('./state.mjs').State} state
 * @param {import('../tether.mjs').Tether} tether
 * @returns {Promise<Service>}
 */
export async function redisOf(given, state, tether) {
  if (given) {
    await demandRedis(given, 'REDIS_URL');
    return { url: given, what: 'Redis of REDIS_URL' };
  }
  const program = findRedisServer();
  if (program) {
    const server = await startRedis({ program, tether, directory: state.redisDirectory });
    return {
      url: server.url,
      what: `${program} on port ${server.port}, data in ${state.redisDirectory}`,
      part: { name: 'Redis', redisUrl: server.url, ...server },
    };
  }
  const server = await startStandIn({ tether });
  return {
    url: server.url,
    what: `js-redis-server on port ${server.port}, in memory`,
    part: { name: 'js-redis-server', redisUrl: server.url, ...server },
    notice: STAND_IN_NOTICE,
  };
}

/**
 * @param {string} url
 * @param {string} variable
 */
export async function demandRedis(url, variable) {
  const { Redis } = require('ioredis');
  const redis = new Redis(url, {
    lazyConnect: true,
    connectTimeout: CONNECT_TIMEOUT_MS,
    commandTimeout: CONNECT_TIMEOUT_MS,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
  });
  /** @type {unknown} */
  let first;
  redis.on('error', (/** @type {Error} */ error) => (first ??= error));
  try {
    await redis.connect();
    await redis.ping();
  } catch (error) {
    throw new Error(`Redis cannot be reached at ${withoutPassword(url)} (${variable}): ${reasonOf(first ?? error)}`);
  } finally {
    redis.disconnect();
  }
}

/** @param {string} url */
function withoutPassword(url) {
  return url.replace(/\/\/[^/@]*@/, '//');
}

/**
 * A refused connection to a name with two addresses comes as an AggregateError without a message.
 * @param {unknown} error
 * @returns {string}
 */
function reasonOf(error) {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  return error instanceof Error ? error.message || error.name : String(error);
}

const STAND_IN_NOTICE = `
  ############################################################################
  #  No redis-server or valkey-server was found on PATH, so js-redis-server  #
  #  stands in for it. Good for a first look; what it cannot do:             #
  #   - keep anything: buckets and snapshots are gone when it stops          #
  #   - be fast: about a tenth of what Redis does, so measure nothing on it  #
  #   - hold long queues: some hundred waiting jobs at most                  #
  #  Install Redis (apt install redis-server, brew install redis) and start  #
  #  again, or set REDIS_URL.                                                #
  ############################################################################
`;

/** The PostgreSQL and the Redis of a run: those of the environment, or our own. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describeRedis, parseRedisUrl, type RedisAddress } from '#addresses';
import { assertAnswers, createRedis, failureOf } from '#limiter-redis';
import { VARIABLES } from '#platform';
import { withDeadline } from '#waiting';
import pg from 'pg';
import { startPostgres } from '#scripts/services/postgres.mjs';
import { findRedisServer, startRedis, startStandIn } from '#scripts/services/redis.mjs';
import type { Tether } from '#scripts/tether.mjs';
import { failed } from '../shared/command-error.js';
import type { Part } from './child.js';
import { LogFile } from './log-file.js';
import type { State } from './state.js';

const DATABASE = 'tollgate';
const CONNECT_TIMEOUT_MS = 5_000;
const LOOK_INTERVAL_MS = 20;

export interface Service {
  readonly url: string;
  /** What it is, in words. */
  readonly what: string;
  /** If it is our own. */
  readonly part?: Part;
  readonly notice?: string;
}

/** @param given DATABASE_URL */
export async function postgresOf(
  given: string | undefined,
  state: State,
  tether: Tether,
): Promise<Service & { readonly isEmpty: boolean }> {
  if (given) return { url: given, what: 'PostgreSQL of DATABASE_URL', isEmpty: await isEmpty(given) };
  const log = new LogFile(`${state.logs}/postgres.log`);
  const directory = await state.postgresDirectory();
  const server = await startPostgres({ directory, passwordFile: state.passwordFile, tether, onLog: (text) => log.write(text) });
  await createDatabase(server.url('postgres'));
  const url = server.url(DATABASE);
  return {
    url,
    what: `PostgreSQL, embedded, on port ${server.port}, data in ${directory}`,
    part: { ...server, name: 'PostgreSQL' },
    isEmpty: await isEmpty(url),
  };
}

/** Whether no migration has run in a database yet. */
const isEmpty = (url: string): Promise<boolean> =>
  connected(url, async (client) => {
    const { rows } = await client.query<{ empty: boolean }>("SELECT to_regclass('migrations') IS NULL AS empty");
    return rows[0]!.empty;
  });

const createDatabase = (url: string): Promise<void> =>
  connected(url, async (client) => {
    const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [DATABASE]);
    if (rowCount === 0) await client.query(`CREATE DATABASE ${DATABASE}`);
  });

async function connected<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  client.on('error', () => {});
  try {
    await client.connect().catch((error: unknown) => {
      throw failed(`PostgreSQL cannot be reached at ${withoutPassword(url)} (DATABASE_URL): ${reasonOf(error)}`);
    });
    return await work(client);
  } finally {
    await client.end().catch(() => {});
  }
}

/** @param given REDIS_URL */
export async function redisOf(given: string | undefined, state: State, tether: Tether): Promise<Service> {
  if (given) {
    await demandRedis(given, 'REDIS_URL');
    return { url: given, what: 'Redis of REDIS_URL' };
  }
  const program = findRedisServer();
  const server = program ? await startRedis({ program, tether, directory: state.redisDirectory }) : await startStandIn({ tether });
  const { url, port } = server;
  const part = { ...server, redisUrl: url };
  return program
    ? { url, what: `${program} on port ${port}, data in ${state.redisDirectory}`, part: { ...part, name: 'Redis' } }
    : { url, what: `js-redis-server on port ${port}, in memory`, part: { ...part, name: 'js-redis-server' }, notice: STAND_IN_NOTICE };
}

/** @param variable the one that names the address */
export async function demandRedis(url: string, variable: string): Promise<void> {
  const address = addressOf(url, variable);
  // One refusal is enough: a server that is just being started is not waited for.
  const refused = new AbortController();
  const redis = createRedis(url, 'limiter', { onError: (error) => refused.abort(error) });
  const answered = async (): Promise<void> => {
    for (; redis.status !== 'ready'; await sleep(LOOK_INTERVAL_MS)) refused.signal.throwIfAborted();
    await assertAnswers(redis);
  };
  try {
    await withDeadline(answered(), CONNECT_TIMEOUT_MS);
  } catch (error) {
    throw failed(`Redis cannot be reached at ${describeRedis(address)} (${variable}): ${failureOf(error).said}`);
  } finally {
    redis.disconnect();
  }
}

function addressOf(url: string, variable: string): RedisAddress {
  try {
    return parseRedisUrl(VARIABLES.redisUrl.parse(url));
  } catch (error) {
    throw failed(`${variable} is not usable: expected ${(error as Error).message}.`);
  }
}

const withoutPassword = (url: string): string => url.replace(/\/\/[^/@]*@/, '//');

/** A refused connection to a name with two addresses comes as an AggregateError without a message. */
function reasonOf(error: unknown): string {
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

/** Databases and Redis servers for tests: real ones, each test's own where it asks for one. */
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { freePort } from '../../scripts/ports.mjs';
import { endProcess, isAlive } from '../../scripts/processes.mjs';
import { placeFor, unprivilegedAccount } from '../../scripts/services/account.mjs';
import { startPostgres } from '../../scripts/services/postgres.mjs';
import { findRedisServer, startRedis } from '../../scripts/services/redis.mjs';
import { Tether } from '../../scripts/tether.mjs';

/** Ends the servers of a test process with it, also when it is killed. */
const tether = new Tether();

/** A database of a test's own. */
export interface TestDatabase {
  url: string;
  readonly drop: () => Promise<void>;
}

/**
 * A new database on the test run's PostgreSQL, empty or with all tables of the migrations. Those are copied, which takes a part of the time of
 * the migrations themselves.
 */
export async function freshDatabase({ migrated = false } = {}): Promise<TestDatabase> {
  const server = fromSetup('TOLLGATE_TEST_POSTGRES', 'PostgreSQL');
  const name = `test_${randomBytes(8).toString('hex')}`;
  const template = migrated ? ` TEMPLATE ${fromSetup('TOLLGATE_TEST_MIGRATED_DATABASE', 'migrated database')}` : '';
  await onServer(server, `CREATE DATABASE ${name}${template}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  // Connections that a killed app left behind must not stand in the way.
  return { url: url.href, drop: () => onServer(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`) };
}

async function onServer(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

/** A server process that a test may treat badly. */
export interface TestServer {
  /** The same before and after a restart. */
  url: string;
  port: number;
  pid: number;
  /** Ends it properly and for good. */
  stop(): Promise<void>;
  /** Ends it at once, as a crash would. */
  kill(): Promise<void>;
  /** Starts it again on the same port, after kill(). */
  restart(): Promise<void>;
}

/** A Redis process of a test's own. Its data is gone after kill() and restart(). */
export interface TestRedis extends TestServer {
  /** It keeps its connections and answers nothing, until thaw(). */
  freeze(): void;
  thaw(): void;
}

/**
 * Starts a Redis on a free loopback port, without persistence.
 *
 * @param options.env besides the variables of this process
 */
export async function freshRedis({ env = {} }: { env?: Record<string, string> } = {}): Promise<TestRedis> {
  const program = findRedisServer();
  if (!program) throw new Error('This test needs a redis-server or valkey-server on PATH; npm test fetches one where it can.');
  const port = await freePort();
  let server = await startRedis({ program, tether, port, env });
  return {
    url: server.url,
    port,
    get pid() {
      return server.pid;
    },
    freeze: () => void process.kill(server.pid, 'SIGSTOP'),
    thaw: () => void process.kill(server.pid, 'SIGCONT'),
    kill: () => endProcess(server.pid, ['SIGKILL'], 5000),
    async stop() {
      // A frozen process hears nothing but this.
      if (isAlive(server.pid)) process.kill(server.pid, 'SIGCONT');
      await server.stop();
    },
    async restart() {
      // Removes the folder of the one before.
      await server.stop();
      server = await startRedis({ program, tether, port, env });
    },
  };
}

/** The Redis that all tests of a run share: do not flush it, and use keys that no other test has. */
export function sharedRedisUrl(): string {
  return fromSetup('TOLLGATE_TEST_REDIS', 'Redis');
}

/** Starts a PostgreSQL of a test's own, for tests that take it away. Prefer freshDatabase(), which is quicker. Its data survives kill() and restart(). */
export async function freshPostgres(): Promise<TestServer> {
  const place = mkdtempSync(join(placeFor(tmpdir(), unprivilegedAccount()), 'tollgate-test-'));
  chmodSync(place, 0o755);
  const port = await freePort();
  const options = { directory: join(place, 'postgres'), passwordFile: join(place, 'password'), tether, throwaway: true, port };
  let server = await startPostgres(options);
  return {
    url: server.url('postgres'),
    port,
    get pid() {
      return server.pid;
    },
    kill: () => endProcess(server.pid, ['SIGQUIT', 'SIGKILL'], 5000),
    async stop() {
      await server.stop();
      rmSync(place, { recursive: true, force: true });
    },
    async restart() {
      server = await startPostgres(options);
    },
  };
}

function fromSetup(variable: string, what: string): string {
  const value = process.env[variable];
  if (!value) throw new Error(`No ${what} was started for this test; only the integration and e2e projects have one.`);
  return value;
}

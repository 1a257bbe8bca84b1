import type { Pool, PoolClient } from 'pg';
import { connectWhenUp, createDataSource, isDatabaseUnavailable, RuleReader } from '#rules-db';
import { Forwarder } from '../../support/forwarder.mjs';
import { PATIENCE } from '../../support/patience.mjs';
import { until } from '../../support/until.js';
import { migratedDatabase } from './database.js';

/** PostgreSQL behind a way that goes black: it accepts and acknowledges whatever is sent, and nothing ever comes back. */

const STATEMENT_TIMEOUT_MS = 500;
/** The statement, and the second in which the server may still end it. */
const ANSWER_TIMEOUT_MS = STATEMENT_TIMEOUT_MS + 1_000;
const CONNECT_TIMEOUT_MS = 3_000;
const POOL_SIZE = 4;
/** From the return of the path to the first answer. */
const HEALED_MS = 1_000 * PATIENCE;
/** Longer than all that the watch of the path waits for. */
const SLOW_STATEMENT_TIMEOUT_MS = 5_000;

/** A pool that is full, on a database of its own; the tests wait for time-outs and run at once. */
async function during(
  test: (dataSource: ReturnType<typeof createDataSource>, forwarder: Forwarder) => Promise<void>,
  statementTimeoutMs = STATEMENT_TIMEOUT_MS,
): Promise<void> {
  const database = await migratedDatabase();
  const target = new URL(database.url);
  const forwarder = await Forwarder.to(Number(target.port));
  target.host = `127.0.0.1:${forwarder.port}`;
  const dataSource = createDataSource(target.href, { poolSize: POOL_SIZE, keptOpen: POOL_SIZE, statementTimeoutMs });
  try {
    await connectWhenUp(dataSource);
    await Promise.all(Array.from({ length: POOL_SIZE }, () => dataSource.query('SELECT pg_sleep(0.1)')));
    await test(dataSource, forwarder);
  } finally {
    forwarder.close();
    await dataSource.destroy();
    await database.close();
  }
}

const timed = async (work: Promise<unknown>): Promise<{ error: unknown; ms: number }> => {
  const startMs = performance.now();
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return { error, ms: performance.now() - startMs };
};

test.concurrent(
  'after one statement without an answer the idle connections of the pool are closed too, so that no other statement waits',
  () =>
    during(async (dataSource, forwarder) => {
      forwarder.swallow();
      const first = await timed(dataSource.query('SELECT 1'));
      expect(isDatabaseUnavailable(first.error)).toBe(true);
      expect(first.ms).toBeLessThan(ANSWER_TIMEOUT_MS + 1_000 * PATIENCE);
      // New connections come through.
      const others = await Promise.all(Array.from({ length: POOL_SIZE }, () => timed(dataSource.query('SELECT 1'))));
      expect(others.map(({ error }) => error)).toEqual(others.map(() => undefined));
      // The path itself was tried as well.
      expect(forwarder.accepted).toBeGreaterThanOrEqual(2 * POOL_SIZE);
    }),
);

test.concurrent('merchants that are being copied fail in time if no answer comes', () =>
  during(async (dataSource, forwarder) => {
    const reader = new RuleReader(dataSource);
    const read = (): Promise<unknown> => reader.merchantsAfter(null, 10, ({ merchantId }) => merchantId);
    expect(await read()).toEqual([]);
    forwarder.swallow();
    const { error, ms } = await timed(read());
    expect(isDatabaseUnavailable(error)).toBe(true);
    expect(ms).toBeLessThan(ANSWER_TIMEOUT_MS + 1_000 * PATIENCE);
  }),
);

test.concurrent('while PostgreSQL is unreachable every statement fails in time, and the first statement afterwards succeeds', () =>
  during(async (dataSource, forwarder) => {
    forwarder.blackHole();
    const failed = await Promise.all(Array.from({ length: 3 * POOL_SIZE }, () => timed(dataSource.query('SELECT 1'))));
    for (const { error, ms } of failed) {
      expect(isDatabaseUnavailable(error)).toBe(true);
      expect(ms).toBeLessThan(ANSWER_TIMEOUT_MS + CONNECT_TIMEOUT_MS + 1_000 * PATIENCE);
    }
    forwarder.open();
    const after = await timed(dataSource.query('SELECT 1'));
    expect(after.error).toBeUndefined();
  }),
);

test.concurrent('a transaction that was cut off holds its locks for at most ten seconds', () =>
  during(async (dataSource, forwarder) => {
    await dataSource.query(`INSERT INTO merchant (id, name, time_zone, version, rules_version) VALUES ('acme', 'Acme', 'Etc/UTC', 1, 1)`);
    const lock = `UPDATE merchant SET name = 'x' WHERE id = 'acme'`;
    const cutOff = timed(
      dataSource.transaction(async (manager) => {
        await manager.query(lock);
        forwarder.swallow();
        await manager.query('SELECT 1');
      }),
    );
    expect(isDatabaseUnavailable((await cutOff).error)).toBe(true);
    await until('the lock is free', async () => (await timed(dataSource.query(lock))).error === undefined, 7_000);
  }),
);

test.concurrent('once the path is back, statements are answered within a second, though all that the pool may hold hangs', () =>
  during(async (dataSource, forwarder) => {
    forwarder.blackHole();
    const lost = Array.from({ length: 3 * POOL_SIZE }, () => timed(dataSource.query('SELECT 1')));
    const acceptedBefore = forwarder.accepted;
    // Those that wait for their turn in the pool, and then for new connections that lead nowhere.
    await until('new connections were tried for a while', () => forwarder.accepted >= acceptedBefore + POOL_SIZE + 4, 20_000);
    lost.push(...Array.from({ length: POOL_SIZE }, () => timed(dataSource.query('SELECT 1'))));
    forwarder.open();
    const after = await timed(dataSource.query('SELECT 1'));
    expect(after.error).toBeUndefined();
    expect(after.ms).toBeLessThan(HEALED_MS);
    await Promise.all(lost);
  }),
);

test.concurrent('connections that died while nobody used them are replaced before anybody does', () =>
  during(async (dataSource, forwarder) => {
    const { master: pool } = dataSource.driver as unknown as { master: Pool };
    const dying = new Set<PoolClient>();
    pool.on('remove', (client) => dying.delete(client));
    for (const client of await Promise.all(Array.from({ length: POOL_SIZE }, () => pool.connect()))) {
      dying.add(client);
      client.release();
    }
    forwarder.swallow();
    await until('they are closed', () => dying.size === 0, 8_000);
    const after = await timed(dataSource.query('SELECT 1'));
    expect(after.error).toBeUndefined();
    expect(after.ms).toBeLessThan(HEALED_MS);
  }),
);

test.concurrent('a slow statement on a path that is there is waited for', () =>
  during(async (dataSource) => {
    const answers = Array.from({ length: POOL_SIZE }, () => dataSource.query('SELECT 1 AS one FROM pg_sleep(2)'));
    expect(await Promise.all(answers)).toEqual(answers.map(() => [{ one: 1 }]));
  }, SLOW_STATEMENT_TIMEOUT_MS),
);

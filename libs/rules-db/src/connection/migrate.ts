import { DataSource, type DataSourceOptions, type Migration, MigrationExecutor, type QueryRunner } from 'typeorm';
import { setTimeout as sleep } from 'node:timers/promises';
import { DeadlineClient } from './deadline-client.js';

/** The key of the advisory lock: any number that nothing else in this database uses ("tollgate" on a telephone keypad). */
const MIGRATION_LOCK = 86_554_283;

/** The longest wait for a migration in another process, in milliseconds. */
const LOCK_TIMEOUT_MS = 300_000;

/** How often it is asked whether that migration is done, in milliseconds. */
const LOCK_POLL_MS = 250;

/** Longer than any statement of a migration takes, in milliseconds. A connection without an answer for so long is closed. */
const ANSWER_TIMEOUT_MS = 900_000;

/**
 * Brings the database to the newest schema and returns the names of the migrations that ran. Any number of processes may
 * call it at once: they take turns under an advisory lock, and all but the first find nothing to do.
 * Rejects with the driver's error if a migration fails; that migration is rolled back.
 */
export async function migrate(dataSource: DataSource): Promise<string[]> {
  return withMigrationLock(dataSource, async (migrator) => {
    const ran = await migrator.runMigrations({ transaction: 'each' });
    return ran.map(({ name }: Migration) => name);
  });
}

/** Reverts the newest migration. Its rows are moved to the archive schema, and `migrate` brings them back. */
export async function revertLast(dataSource: DataSource): Promise<void> {
  await withMigrationLock(dataSource, undoLast);
}

/** Reverts every migration, the newest first. */
export async function revertAll(dataSource: DataSource): Promise<void> {
  await withMigrationLock(dataSource, async (migrator) => {
    for (let left = migrator.migrations.length; left > 0; left--) await undoLast(migrator);
  });
}

/** In one transaction, unless the migration says that it makes its own. */
async function undoLast(migrator: DataSource): Promise<void> {
  const [last] = (await new MigrationExecutor(migrator).getExecutedMigrations()).sort((a, b) => b.timestamp - a.timestamp);
  const found = migrator.migrations.find(({ name }) => name === last?.name);
  await migrator.undoLastMigration({ transaction: found?.transaction === false ? 'none' : 'each' });
}

/**
 * Waits for the lock by asking again and again: a statement that waits would keep the other process from building an index concurrently, which waits
 * for all older statements.
 */
async function takeMigrationLock(holder: QueryRunner): Promise<void> {
  for (const endMs = Date.now() + LOCK_TIMEOUT_MS; ; await sleep(LOCK_POLL_MS)) {
    const [row] = (await holder.query('SELECT pg_try_advisory_lock($1) AS locked', [MIGRATION_LOCK])) as { locked: boolean }[];
    if (row?.locked === true) return;
    if (Date.now() > endMs) throw new MigrationLockError(LOCK_TIMEOUT_MS);
  }
}

/** Another process has been migrating for too long. */
class MigrationLockError extends Error {
  /** Of PostgreSQL's lock_not_available, after which one tries again. */
  readonly code = '55P03';

  constructor(afterMs: number) {
    super(`another process has been migrating for ${afterMs / 1000} s`);
    this.name = 'MigrationLockError';
  }
}

/**
 * Runs `work` on separate connections without the time limits of requests: one connection holds the lock, the other one works.
 * The lock ends with its connection, so a process that dies leaves nothing locked.
 */
async function withMigrationLock<T>(dataSource: DataSource, work: (migrator: DataSource) => Promise<T>): Promise<T> {
  const migrator = new DataSource({
    ...dataSource.options,
    poolSize: 2,
    connectTimeoutMS: 10_000,
    extra: { Client: DeadlineClient, answerTimeoutMs: ANSWER_TIMEOUT_MS },
  } as DataSourceOptions);
  await migrator.initialize();
  const holder = migrator.createQueryRunner();
  try {
    await takeMigrationLock(holder);
    return await work(migrator);
  } finally {
    await holder.query('SELECT pg_advisory_unlock_all()').catch(() => undefined);
    await holder.release();
    await migrator.destroy();
  }
}

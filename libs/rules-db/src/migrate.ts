import { DataSource, type DataSourceOptions, type Migration } from 'typeorm';
import { DeadlineClient } from './deadline-client.js';

/** Any number that nobody else uses for an advisory lock in this database ("tollgate" on a telephone). */
const MIGRATION_LOCK = 86_554_283;

/** A migration in another process may take its time, but not for ever. */
const LOCK_TIMEOUT_MS = 300_000;

/** Longer than any statement of a migration: a connection that is silent for so long is dead. */
const ANSWER_TIMEOUT_MS = 900_000;

/**
 * Brings the database to the newest schema; returns the names of the migrations that ran. Any number of processes may
 * call it at once: they take turns under an advisory lock, and all but the first find nothing to do.
 */
export async function migrate(dataSource: DataSource): Promise<string[]> {
  return withMigrationLock(dataSource, async (migrator) => {
    const ran = await migrator.runMigrations({ transaction: 'each' });
    return ran.map(({ name }: Migration) => name);
  });
}

/** Reverts the newest migration. It moves tables aside and loses no row; `migrate` brings them back. */
export async function revertLast(dataSource: DataSource): Promise<void> {
  await withMigrationLock(dataSource, (migrator) => migrator.undoLastMigration({ transaction: 'each' }));
}

/** Reverts every migration, the newest first. */
export async function revertAll(dataSource: DataSource): Promise<void> {
  await withMigrationLock(dataSource, async (migrator) => {
    for (let left = migrator.migrations.length; left > 0; left--) await migrator.undoLastMigration({ transaction: 'each' });
  });
}

/**
 * Runs `work` on connections of its own, without the time limits that serve requests: one connection holds the lock,
 * the other works. The lock ends with its connection, so a process that dies leaves nothing locked.
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
    await holder.query(`SET lock_timeout = ${LOCK_TIMEOUT_MS}`);
    await holder.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    return await work(migrator);
  } finally {
    await holder.query('SELECT pg_advisory_unlock_all()').catch(() => undefined);
    await holder.release();
    await migrator.destroy();
  }
}

import type { QueryRunner } from 'typeorm';

/** A statement that waits longer for others gives up, and the migration is tried again: meanwhile everybody else waits behind it. */
const LOCK_TIMEOUT_MS = 3_000;

/**
 * The steps of a migration that changes large tables. Such a migration has `transaction = false`: each step commits by itself, so that a lock that keeps everybody
 * from a table ends with the step that needs it, and no step locks two tables that requests read together. What was done before a step
 * failed is found done when the migration is tried again.
 */
export async function step(runner: QueryRunner, work: () => Promise<void>): Promise<void> {
  await runner.startTransaction();
  try {
    await boundLocks(runner);
    await work();
    await runner.commitTransaction();
  } catch (error) {
    await runner.rollbackTransaction();
    throw error;
  }
}

/** The rest of the transaction waits for each lock a bounded time only. */
export async function boundLocks(runner: QueryRunner): Promise<void> {
  await runner.query(`SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`);
}

/** Builds an index while others read and write. @param definition what follows its name in CREATE INDEX */
export async function createIndex(
  runner: QueryRunner,
  name: string,
  definition: string,
  unique: 'unique' | 'not unique' = 'not unique',
): Promise<void> {
  const [found] = (await runner.query('SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = to_regclass($1)', [name])) as {
    valid: boolean;
  }[];
  if (found?.valid === true) return;
  // An attempt that failed leaves one behind that is kept up to date and used for nothing.
  if (found !== undefined) await dropIndex(runner, name);
  await runner.query(`CREATE ${unique === 'unique' ? 'UNIQUE ' : ''}INDEX CONCURRENTLY ${name} ${definition}`);
}

export async function dropIndex(runner: QueryRunner, name: string): Promise<void> {
  await runner.query(`DROP INDEX CONCURRENTLY IF EXISTS ${name}`);
}

/** Adds a condition that all rows have to meet. They are looked at while others read and write. */
export async function demand(runner: QueryRunner, table: string, name: string, condition: string): Promise<void> {
  const found = (await runner.query('SELECT 1 FROM pg_constraint WHERE conrelid = $1::regclass AND conname = $2', [
    table,
    name,
  ])) as unknown[];
  if (found.length === 0)
    await step(runner, async () => {
      await runner.query(`ALTER TABLE ${table} ADD CONSTRAINT ${name} CHECK (${condition}) NOT VALID`);
    });
  await runner.query(`ALTER TABLE ${table} VALIDATE CONSTRAINT ${name}`);
}

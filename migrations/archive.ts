import type { QueryRunner } from 'typeorm';

/** The schema that holds the tables of reverted migrations, and rows that the version before would misunderstand. */
const ARCHIVE_SCHEMA = 'tollgate_archived';

/**
 * Archives tables: they move, with their rows, indexes, constraints and sequences, into the archive schema, from which
 * `restoreTables` brings them back. A revert never drops a row; an administrator who wants to lose them drops the schema by hand.
 */
export async function archiveTables(runner: QueryRunner, tables: readonly string[]): Promise<void> {
  await runner.query(`CREATE SCHEMA IF NOT EXISTS ${ARCHIVE_SCHEMA}`);
  for (const table of tables) await runner.query(`ALTER TABLE IF EXISTS "${table}" SET SCHEMA ${ARCHIVE_SCHEMA}`);
}

/**
 * Moves archived tables back. Returns false if none is archived: then the migration has to create them.
 *
 * @throws Error if only some of the tables are archived
 */
export async function restoreTables(runner: QueryRunner, tables: readonly string[]): Promise<boolean> {
  const found = (await runner.query('SELECT table_name FROM information_schema.tables WHERE table_schema = $1 AND table_name = ANY($2)', [
    ARCHIVE_SCHEMA,
    tables,
  ])) as unknown[];
  if (found.length === 0) return false;
  if (found.length !== tables.length) {
    throw new Error(
      `schema ${ARCHIVE_SCHEMA} holds only some of the tables ${tables.join(', ')}; bring back the others or move these away`,
    );
  }
  const [{ schema }] = (await runner.query('SELECT current_schema() AS schema')) as [{ schema: string }];
  for (const table of tables) await runner.query(`ALTER TABLE ${ARCHIVE_SCHEMA}."${table}" SET SCHEMA "${schema}"`);
  return true;
}

/**
 * Adds a column, or brings back the archived one, with its values, constraints and default. Does nothing if the column is there already.
 * @param definition what stands behind the name in ADD COLUMN; with a constant default, or none, no row is written
 */
export async function addColumn(runner: QueryRunner, table: string, column: string, definition: string): Promise<void> {
  const isArchived = await hasColumn(runner, table, archivedColumn(column));
  await runner.query(
    isArchived
      ? `ALTER TABLE "${table}" RENAME COLUMN "${archivedColumn(column)}" TO "${column}"`
      : `ALTER TABLE "${table}" ADD COLUMN IF NOT EXISTS "${column}" ${definition}`,
  );
}

/**
 * Archives a column: it gets a name that no version of Tollgate asks for, and keeps its values, so that it takes no longer than the lock. A column
 * without a default has to be nullable by then.
 */
export async function archiveColumn(runner: QueryRunner, table: string, column: string): Promise<void> {
  if (!(await hasColumn(runner, table, column))) return;
  await runner.query(`ALTER TABLE "${table}" RENAME COLUMN "${column}" TO "${archivedColumn(column)}"`);
}

async function hasColumn(runner: QueryRunner, table: string, column: string): Promise<boolean> {
  const found = (await runner.query('SELECT 1 FROM pg_attribute WHERE attrelid = $1::regclass AND attname = $2 AND NOT attisdropped', [
    `"${table}"`,
    column,
  ])) as unknown[];
  return found.length > 0;
}

/** Archives the rows in which a column is not null, with all of their columns, and deletes them. */
export async function archiveRows(runner: QueryRunner, table: string, column: string): Promise<void> {
  if (!(await hasColumn(runner, table, column))) return;
  const archive = archivedRows(table, column);
  await runner.query(`CREATE SCHEMA IF NOT EXISTS ${ARCHIVE_SCHEMA}`);
  await runner.query(`CREATE TABLE IF NOT EXISTS ${archive} AS SELECT * FROM "${table}" WITH NO DATA`);
  await runner.query(`INSERT INTO ${archive} SELECT * FROM "${table}" WHERE "${column}" IS NOT NULL`);
  await runner.query(`DELETE FROM "${table}" WHERE "${column}" IS NOT NULL`);
}

/** Brings archived rows back, under their ids; does nothing if none are archived. Columns that the table no longer has are left out. */
export async function restoreRows(runner: QueryRunner, table: string, column: string): Promise<void> {
  const archive = archivedRows(table, column);
  const found = (await runner.query(
    `SELECT a.attname AS name FROM pg_attribute a JOIN pg_attribute b ON b.attname = a.attname AND b.attrelid = $2::regclass
     WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped AND NOT b.attisdropped`,
    [archive, `"${table}"`],
  )) as { name: string }[];
  if (found.length === 0) return;
  const columns = found.map(({ name }) => `"${name}"`).join(', ');
  await runner.query(`INSERT INTO "${table}" (${columns}) OVERRIDING SYSTEM VALUE SELECT ${columns} FROM ${archive}`);
  await runner.query(`DROP TABLE ${archive}`);
}

const archivedRows = (table: string, column: string): string => `${ARCHIVE_SCHEMA}."${table} of ${column}"`;

const archivedColumn = (column: string): string => `archived_${column}`;

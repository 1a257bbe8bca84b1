import type { QueryRunner } from 'typeorm';

/** The schema that holds the tables and columns of reverted migrations. */
const ARCHIVE_SCHEMA = 'tollgate_archived';

/**
 * Archives tables: they move, with their rows, indexes, constraints and sequences, into the archive schema, from which
 * `restoreTables` brings them back. A revert never drops a row; an administrator who wants to lose them drops the schema by hand.
 */
export async function archiveTables(runner: QueryRunner, tables: readonly string[]): Promise<void> {
  await runner.query(`CREATE SCHEMA IF NOT EXISTS ${ARCHIVE_SCHEMA}`);
  for (const table of tables) await runner.query(`ALTER TABLE "${table}" SET SCHEMA ${ARCHIVE_SCHEMA}`);
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
 * Archives a column: its values move, with the ids of their rows, into a table of the archive schema, from which `restoreColumn`
 * brings back those whose rows still exist.
 */
export async function archiveColumn(runner: QueryRunner, table: string, column: string): Promise<void> {
  await runner.query(`CREATE SCHEMA IF NOT EXISTS ${ARCHIVE_SCHEMA}`);
  await runner.query(
    `CREATE TABLE ${archivedColumn(table, column)} AS SELECT id, "${column}" FROM "${table}" WHERE "${column}" IS NOT NULL`,
  );
  await runner.query(`ALTER TABLE "${table}" DROP COLUMN "${column}"`);
}

/** Fills a column that was added again with its archived values; does nothing if none are archived. */
export async function restoreColumn(runner: QueryRunner, table: string, column: string): Promise<void> {
  const archive = archivedColumn(table, column);
  const [{ found }] = (await runner.query('SELECT to_regclass($1) IS NOT NULL AS found', [archive])) as [{ found: boolean }];
  if (!found) return;
  // Most rows have the default, which stands there already: they are not written again, with all of their indexes.
  await runner.query(
    `UPDATE "${table}" t SET "${column}" = a."${column}" FROM ${archive} a WHERE a.id = t.id AND t."${column}" IS DISTINCT FROM a."${column}"`,
  );
  await runner.query(`DROP TABLE ${archive}`);
}

/** Archives the rows in which a column is not null, with all of their columns, and deletes them. */
export async function archiveRows(runner: QueryRunner, table: string, column: string): Promise<void> {
  await runner.query(`CREATE SCHEMA IF NOT EXISTS ${ARCHIVE_SCHEMA}`);
  await runner.query(`CREATE TABLE ${archivedRows(table, column)} AS SELECT * FROM "${table}" WHERE "${column}" IS NOT NULL`);
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

const archivedColumn = (table: string, column: string): string => `${ARCHIVE_SCHEMA}."${table}.${column}"`;

import { type QueryRunner } from 'typeorm';

/** Where tables wait that a reverted migration took out of service. */
const ARCHIVE_SCHEMA = 'tollgate_archived';

/**
 * Takes tables out of service without losing a row: they move, with their data, indexes, constraints and sequences,
 * into the archive schema, from which `restoreTables` brings them back. Nothing is ever dropped by a revert; who really
 * wants the rows gone drops the schema by hand.
 */
export async function archiveTables(runner: QueryRunner, tables: readonly string[]): Promise<void> {
  await runner.query(`CREATE SCHEMA IF NOT EXISTS ${ARCHIVE_SCHEMA}`);
  for (const table of tables) await runner.query(`ALTER TABLE "${table}" SET SCHEMA ${ARCHIVE_SCHEMA}`);
}

/** Puts archived tables back into service. False when there are none, and the migration has to create them. */
export async function restoreTables(runner: QueryRunner, tables: readonly string[]): Promise<boolean> {
  const found = (await runner.query(
    'SELECT table_name FROM information_schema.tables WHERE table_schema = $1 AND table_name = ANY($2)',
    [ARCHIVE_SCHEMA, tables],
  )) as unknown[];
  if (found.length === 0) return false;
  if (found.length !== tables.length) {
    throw new Error(`schema ${ARCHIVE_SCHEMA} holds only some of the tables ${tables.join(', ')}; bring back the others or move these away`);
  }
  const [{ schema }] = (await runner.query('SELECT current_schema() AS schema')) as [{ schema: string }];
  for (const table of tables) await runner.query(`ALTER TABLE ${ARCHIVE_SCHEMA}."${table}" SET SCHEMA "${schema}"`);
  return true;
}

import type { MigrationInterface, QueryRunner } from 'typeorm';
import { addColumn, archiveColumn } from './archive.js';
import { boundLocks } from './steps.js';

/** Without defaults, so that no row is rewritten. */
const COLUMNS = [
  ['cost_of_field', 'jsonb'],
  ['charge', 'jsonb'],
  ['on_unreadable_body', 'text'],
] as const;

/** Adds costs that a field of the request says, charges that wait for the answer, and what holds for bodies that cannot be read. */
export class RuleBodiesAndAnswers1795850000000 implements MigrationInterface {
  readonly name = 'RuleBodiesAndAnswers1795850000000';

  async up(runner: QueryRunner): Promise<void> {
    await boundLocks(runner);
    for (const [column, definition] of COLUMNS) await addColumn(runner, 'rule', column, definition);
  }

  /** Archives the columns with every value: see archive.ts. */
  async down(runner: QueryRunner): Promise<void> {
    await boundLocks(runner);
    for (const [column] of COLUMNS) await archiveColumn(runner, 'rule', column);
  }
}

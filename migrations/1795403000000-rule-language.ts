import type { MigrationInterface, QueryRunner } from 'typeorm';
import { addColumn, archiveColumn } from './archive.js';
import { boundLocks } from './steps.js';

/** Their defaults are constants, so that no row is rewritten. */
const COLUMNS = [
  ['valid_from', 'text'],
  ['valid_to', 'text'],
  ['schedule', 'jsonb'],
  ['language', 'smallint NOT NULL DEFAULT 1'],
] as const;

/** Adds when a rule applies, and the version of the language that one has to know to read it. Its conditions stand in its match. */
export class RuleLanguage1795403000000 implements MigrationInterface {
  readonly name = 'RuleLanguage1795403000000';

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

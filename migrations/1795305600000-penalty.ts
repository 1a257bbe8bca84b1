import type { MigrationInterface, QueryRunner } from 'typeorm';
import { addColumn, archiveColumn } from './archive.js';
import { boundLocks } from './steps.js';

/** Adds the penalty of a rule: how long it blocks a bucket key after too many refusals. */
export class Penalty1795305600000 implements MigrationInterface {
  readonly name = 'Penalty1795305600000';

  async up(runner: QueryRunner): Promise<void> {
    await boundLocks(runner);
    await addColumn(runner, 'rule', 'penalty', 'jsonb');
  }

  /** Archives the column with every value: see archive.ts. */
  async down(runner: QueryRunner): Promise<void> {
    await boundLocks(runner);
    await archiveColumn(runner, 'rule', 'penalty');
  }
}

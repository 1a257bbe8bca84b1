import type { MigrationInterface, QueryRunner } from 'typeorm';
import { archiveColumn, restoreColumn } from './archive.js';

/** Adds the penalty of a rule: how long it blocks a bucket key after too many refusals. */
export class Penalty1795305600000 implements MigrationInterface {
  readonly name = 'Penalty1795305600000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE rule ADD COLUMN penalty jsonb');
    await restoreColumn(runner, 'rule', 'penalty');
  }

  /** Archives the column with every value: see archive.ts. */
  async down(runner: QueryRunner): Promise<void> {
    await archiveColumn(runner, 'rule', 'penalty');
  }
}

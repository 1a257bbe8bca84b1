import { type MigrationInterface, type QueryRunner } from 'typeorm';
import { archiveColumn, restoreColumn } from './archive.js';

/** What a rule does to a key that it refuses again and again. */
export class Penalty1795305600000 implements MigrationInterface {
  readonly name = 'Penalty1795305600000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE rule ADD COLUMN penalty jsonb');
    await restoreColumn(runner, 'rule', 'penalty');
  }

  /** Keeps every penalty: see archive.ts. */
  async down(runner: QueryRunner): Promise<void> {
    await archiveColumn(runner, 'rule', 'penalty');
  }
}

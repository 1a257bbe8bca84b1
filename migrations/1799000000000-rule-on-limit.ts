import type { MigrationInterface, QueryRunner } from 'typeorm';
import { archiveColumn, restoreColumn } from './archive.js';

/** Adds what becomes of requests over a limit. Without a default, so that no row is rewritten. */
export class RuleOnLimit1799000000000 implements MigrationInterface {
  readonly name = 'RuleOnLimit1799000000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE rule ADD COLUMN on_limit jsonb');
    await restoreColumn(runner, 'rule', 'on_limit');
  }

  /** Archives the column with every value: see archive.ts. */
  async down(runner: QueryRunner): Promise<void> {
    await archiveColumn(runner, 'rule', 'on_limit');
  }
}

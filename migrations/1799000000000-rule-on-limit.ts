import type { MigrationInterface, QueryRunner } from 'typeorm';
import { addColumn, archiveColumn } from './archive.js';
import { boundLocks } from './steps.js';

/** Adds what becomes of requests over a limit. Without a default, so that no row is rewritten. */
export class RuleOnLimit1799000000000 implements MigrationInterface {
  readonly name = 'RuleOnLimit1799000000000';

  async up(runner: QueryRunner): Promise<void> {
    await boundLocks(runner);
    await addColumn(runner, 'rule', 'on_limit', 'jsonb');
  }

  /** Archives the column with every value: see archive.ts. */
  async down(runner: QueryRunner): Promise<void> {
    await boundLocks(runner);
    await archiveColumn(runner, 'rule', 'on_limit');
  }
}

import type { MigrationInterface, QueryRunner } from 'typeorm';
import { addColumn, archiveColumn } from './archive.js';
import { boundLocks } from './steps.js';

/** Adds how exactly a rule is counted. Without defaults, so that no row is rewritten. */
export class RuleConsistency1799500000000 implements MigrationInterface {
  readonly name = 'RuleConsistency1799500000000';

  async up(runner: QueryRunner): Promise<void> {
    await boundLocks(runner);
    await addColumn(runner, 'rule', 'consistency', 'text');
    await addColumn(runner, 'rule', 'store_failure_leased', 'boolean');
  }

  /** Archives the columns with every value: see archive.ts. */
  async down(runner: QueryRunner): Promise<void> {
    await boundLocks(runner);
    await archiveColumn(runner, 'rule', 'store_failure_leased');
    await archiveColumn(runner, 'rule', 'consistency');
  }
}

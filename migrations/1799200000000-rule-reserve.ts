import type { MigrationInterface, QueryRunner } from 'typeorm';
import { addColumn, archiveColumn } from './archive.js';
import { boundLocks } from './steps.js';

/** Adds what a rule keeps for some of its routes. Without a default, so that no row is rewritten. */
export class RuleReserve1799200000000 implements MigrationInterface {
  readonly name = 'RuleReserve1799200000000';

  async up(runner: QueryRunner): Promise<void> {
    await boundLocks(runner);
    await addColumn(runner, 'rule', 'reserve', 'jsonb');
  }

  /** Archives the column with every value: see archive.ts. */
  async down(runner: QueryRunner): Promise<void> {
    await boundLocks(runner);
    await archiveColumn(runner, 'rule', 'reserve');
  }
}

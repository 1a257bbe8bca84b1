import type { MigrationInterface, QueryRunner } from 'typeorm';
import { addColumn, archiveColumn } from './archive.js';
import { boundLocks } from './steps.js';

/**
 * Adds the label to which a token is limited. Such a token has an empty list of merchants beside it: a Rules API of the version before, which does not know the
 * column, lets it do nothing.
 */
export class TokenLabel1799510000000 implements MigrationInterface {
  readonly name = 'TokenLabel1799510000000';

  async up(runner: QueryRunner): Promise<void> {
    await boundLocks(runner);
    await addColumn(runner, 'api_token', 'label', 'text');
  }

  /** Archives the column with every value: see archive.ts. */
  async down(runner: QueryRunner): Promise<void> {
    await boundLocks(runner);
    await archiveColumn(runner, 'api_token', 'label');
  }
}

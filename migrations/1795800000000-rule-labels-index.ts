import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Adds the index by which an export with a label finds the rules that have it. It is partial, because most rules have no labels, so building it writes little.
 * It is not built concurrently: that would wait for every process that waits for the lock of migrations, and these wait for it.
 */
export class RuleLabelsIndex1795800000000 implements MigrationInterface {
  readonly name = 'RuleLabelsIndex1795800000000';

  async up(runner: QueryRunner): Promise<void> {
    // Writers wait meanwhile, and readers do not. If one of them takes longer, the migration is tried again.
    await runner.query(`SET LOCAL lock_timeout = '3s'`);
    await runner.query(`CREATE INDEX rule_labels ON rule USING gin (labels jsonb_path_ops) WHERE labels <> '{}'`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`SET LOCAL lock_timeout = '3s'`);
    await runner.query('DROP INDEX rule_labels');
  }
}

import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndex, dropIndex } from './steps.js';

/**
 * Adds the index by which an export with a label finds the rules that have it. It is partial, because most rules have no labels, so building it writes little.
 */
export class RuleLabelsIndex1795800000000 implements MigrationInterface {
  readonly name = 'RuleLabelsIndex1795800000000';
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await createIndex(runner, 'rule_labels', `ON rule USING gin (labels jsonb_path_ops) WHERE labels <> '{}'`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await dropIndex(runner, 'rule_labels');
  }
}

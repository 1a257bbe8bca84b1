import type { MigrationInterface, QueryRunner } from 'typeorm';
import { archiveColumn, restoreColumn } from './archive.js';

const COLUMNS = [
  ['rule', 'note', `text NOT NULL DEFAULT ''`],
  ['rule', 'labels', `jsonb NOT NULL DEFAULT '{}' CONSTRAINT rule_labels_object CHECK (jsonb_typeof(labels) = 'object')`],
  ['merchant', 'labels', `jsonb NOT NULL DEFAULT '{}' CONSTRAINT merchant_labels_object CHECK (jsonb_typeof(labels) = 'object')`],
] as const;

/** Adds notes and labels, and the indexes by which merchants are found. */
export class Labels1795400200000 implements MigrationInterface {
  readonly name = 'Labels1795400200000';

  async up(runner: QueryRunner): Promise<void> {
    for (const [table, column, definition] of COLUMNS) {
      await runner.query(`ALTER TABLE ${table} ADD COLUMN ${column} ${definition}`);
      await restoreColumn(runner, table, column);
    }
    // Partial: the row of a merchant is written with each change of its rules, and most merchants have no labels.
    await runner.query(`CREATE INDEX merchant_labels ON merchant USING gin (labels jsonb_path_ops) WHERE labels <> '{}'`);
    await runner.query('CREATE INDEX merchant_name_prefix ON merchant (lower(name) text_pattern_ops)');
  }

  /** Archives the columns with every value: see archive.ts. */
  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX merchant_name_prefix');
    await runner.query('DROP INDEX merchant_labels');
    for (const [table, column] of COLUMNS) await archiveColumn(runner, table, column);
  }
}

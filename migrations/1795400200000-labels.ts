import type { MigrationInterface, QueryRunner } from 'typeorm';
import { addColumn, archiveColumn } from './archive.js';
import { createIndex, demand, dropIndex, step } from './steps.js';

/** Adds notes and labels, and the indexes by which merchants are found. */
export class Labels1795400200000 implements MigrationInterface {
  readonly name = 'Labels1795400200000';
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await step(runner, async () => {
      await addColumn(runner, 'rule', 'note', `text NOT NULL DEFAULT ''`);
      await addColumn(runner, 'rule', 'labels', `jsonb NOT NULL DEFAULT '{}'`);
    });
    await step(runner, () => addColumn(runner, 'merchant', 'labels', `jsonb NOT NULL DEFAULT '{}'`));
    for (const table of ['rule', 'merchant']) await demand(runner, table, `${table}_labels_object`, `jsonb_typeof(labels) = 'object'`);
    // Partial: the row of a merchant is written with each change of its rules, and most merchants have no labels.
    await createIndex(runner, 'merchant_labels', `ON merchant USING gin (labels jsonb_path_ops) WHERE labels <> '{}'`);
    await createIndex(runner, 'merchant_name_prefix', 'ON merchant (lower(name) text_pattern_ops)');
  }

  /** Archives the columns with every value: see archive.ts. */
  async down(runner: QueryRunner): Promise<void> {
    await dropIndex(runner, 'merchant_name_prefix');
    await dropIndex(runner, 'merchant_labels');
    await step(runner, async () => {
      for (const column of ['note', 'labels']) await archiveColumn(runner, 'rule', column);
    });
    await step(runner, () => archiveColumn(runner, 'merchant', 'labels'));
  }
}

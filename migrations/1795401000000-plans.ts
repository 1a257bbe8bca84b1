import type { MigrationInterface, QueryRunner } from 'typeorm';
import { addColumn, archiveColumn, archiveRows, archiveTables, restoreRows, restoreTables } from './archive.js';
import { createIndex, dropIndex, step } from './steps.js';

const TABLES = ['plan', 'deleted_plan'] as const;

/** Adds plans: sets of rules that merchants share. */
export class Plans1795401000000 implements MigrationInterface {
  readonly name = 'Plans1795401000000';
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await step(runner, async () => {
      if (!(await restoreTables(runner, TABLES))) await createTables(runner);
    });
    // A new column without a default needs no look at the rows, for its foreign key neither.
    await step(runner, () =>
      addColumn(runner, 'merchant', 'plan', 'text COLLATE "C" CONSTRAINT merchant_plan_fkey REFERENCES plan (name)'),
    );
    await step(runner, async () => {
      await addColumn(runner, 'rule', 'plan', 'text COLLATE "C" CONSTRAINT rule_plan_fkey REFERENCES plan (name) ON DELETE CASCADE');
      await addColumn(runner, 'rule', 'plan_enabled', 'boolean');
    });
    await step(runner, () => addColumn(runner, 'outbox', 'plan', 'text COLLATE "C"'));
    await createIndex(runner, 'merchant_of_plan', 'ON merchant (plan, id) WHERE plan IS NOT NULL');
    await createIndex(runner, 'rule_name_of_plan', 'ON rule (plan, name) WHERE plan IS NOT NULL', 'unique');
    // A plan's rule has no merchant either, and may have the name of a default rule.
    await defaultNamesWhere(runner, 'merchant_id IS NULL AND plan IS NULL');
    await step(runner, () => restoreRows(runner, 'rule', 'plan'));
    await createIndex(runner, 'audit_of_plan', `ON audit ((coalesce(after, before) ->> 'plan'), seq) WHERE merchant_id IS NULL`);
  }

  /** Archives the plans with their rules, and which merchants have them: see archive.ts. */
  async down(runner: QueryRunner): Promise<void> {
    await dropIndex(runner, 'audit_of_plan');
    await step(runner, () => archiveRows(runner, 'rule', 'plan'));
    await defaultNamesWhere(runner, 'merchant_id IS NULL');
    await dropIndex(runner, 'rule_name_of_plan');
    await dropIndex(runner, 'merchant_of_plan');
    await step(runner, () => archiveColumn(runner, 'outbox', 'plan'));
    await step(runner, async () => {
      for (const column of ['plan', 'plan_enabled']) await archiveColumn(runner, 'rule', column);
    });
    await step(runner, () => archiveColumn(runner, 'merchant', 'plan'));
    await step(runner, () => archiveTables(runner, TABLES));
  }
}

/** Replaces the index that keeps the names of default rules apart. */
async function defaultNamesWhere(runner: QueryRunner, condition: string): Promise<void> {
  await dropIndex(runner, 'rule_name_of_default_new');
  await createIndex(runner, 'rule_name_of_default_new', `ON rule (name) WHERE ${condition}`, 'unique');
  await step(runner, async () => {
    await runner.query('DROP INDEX IF EXISTS rule_name_of_default');
    await runner.query('ALTER INDEX rule_name_of_default_new RENAME TO rule_name_of_default');
  });
}

async function createTables(runner: QueryRunner): Promise<void> {
  await runner.query(`
    CREATE TABLE IF NOT EXISTS plan (
      name text COLLATE "C" NOT NULL,
      note text NOT NULL DEFAULT '',
      labels jsonb NOT NULL DEFAULT '{}' CONSTRAINT plan_labels_object CHECK (jsonb_typeof(labels) = 'object'),
      version integer NOT NULL,
      rules_version bigint NOT NULL,
      created_at timestamptz NOT NULL DEFAULT now(),
      updated_at timestamptz NOT NULL DEFAULT now(),
      CONSTRAINT plan_pkey PRIMARY KEY (name)
    )`);
  await runner.query(`
    CREATE TABLE IF NOT EXISTS deleted_plan (
      plan text COLLATE "C" NOT NULL,
      rules_version bigint NOT NULL,
      deleted_at timestamptz NOT NULL DEFAULT now(),
      CONSTRAINT deleted_plan_pkey PRIMARY KEY (plan)
    )`);
}

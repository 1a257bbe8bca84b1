import type { MigrationInterface, QueryRunner } from 'typeorm';
import { archiveColumn, archiveRows, archiveTables, restoreColumn, restoreRows, restoreTables } from './archive.js';

const TABLES = ['plan', 'deleted_plan'] as const;

/** A statement that waits longer for others gives up, and the migration is tried again: meanwhile everybody else waits behind it. */
const LOCK_TIMEOUT_MS = 5_000;

/** Adds plans: sets of rules that merchants share. */
export class Plans1795401000000 implements MigrationInterface {
  readonly name = 'Plans1795401000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`);
    if (!(await restoreTables(runner, TABLES))) await createTables(runner);
    // A new column without a default needs no look at the rows, for its foreign key neither.
    await runner.query('ALTER TABLE merchant ADD COLUMN plan text COLLATE "C" CONSTRAINT merchant_plan_fkey REFERENCES plan (name)');
    await runner.query(`ALTER TABLE rule
      ADD COLUMN plan text COLLATE "C" CONSTRAINT rule_plan_fkey REFERENCES plan (name) ON DELETE CASCADE,
      ADD COLUMN plan_enabled boolean`);
    await runner.query('ALTER TABLE outbox ADD COLUMN plan text COLLATE "C"');
    await restoreColumn(runner, 'merchant', 'plan');
    await restoreColumn(runner, 'outbox', 'plan');
    await runner.query('CREATE INDEX merchant_of_plan ON merchant (plan, id) WHERE plan IS NOT NULL');
    await runner.query('CREATE UNIQUE INDEX rule_name_of_plan ON rule (plan, name) WHERE plan IS NOT NULL');
    // A plan's rule has no merchant either, and may have the name of a default rule.
    await runner.query('DROP INDEX rule_name_of_default');
    await runner.query('CREATE UNIQUE INDEX rule_name_of_default ON rule (name) WHERE merchant_id IS NULL AND plan IS NULL');
    await restoreRows(runner, 'rule', 'plan');
    await runner.query(`CREATE INDEX audit_of_plan ON audit ((coalesce(after, before) ->> 'plan'), seq) WHERE merchant_id IS NULL`);
  }

  /** Archives the plans with their rules, and which merchants have them: see archive.ts. */
  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`);
    await runner.query('DROP INDEX audit_of_plan');
    await archiveRows(runner, 'rule', 'plan');
    await runner.query('DROP INDEX rule_name_of_default');
    await runner.query('ALTER TABLE rule DROP COLUMN plan, DROP COLUMN plan_enabled');
    await runner.query('CREATE UNIQUE INDEX rule_name_of_default ON rule (name) WHERE merchant_id IS NULL');
    await archiveColumn(runner, 'outbox', 'plan');
    await archiveColumn(runner, 'merchant', 'plan');
    await archiveTables(runner, TABLES);
  }
}

async function createTables(runner: QueryRunner): Promise<void> {
  await runner.query(`
    CREATE TABLE plan (
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
    CREATE TABLE deleted_plan (
      plan text COLLATE "C" NOT NULL,
      rules_version bigint NOT NULL,
      deleted_at timestamptz NOT NULL DEFAULT now(),
      CONSTRAINT deleted_plan_pkey PRIMARY KEY (plan)
    )`);
}

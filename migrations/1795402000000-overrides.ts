import type { MigrationInterface, QueryRunner } from 'typeorm';
import { archiveTables, restoreTables } from './archive.js';

const TABLES = ['rule_override'] as const;

/**
 * Overrides of rules for merchants, the ones that ended included. There are no foreign keys: a rule that was deleted can come back under its id, and a
 * merchant under its own, and live buckets remember what overrides there were.
 */
export class Overrides1795402000000 implements MigrationInterface {
  readonly name = 'Overrides1795402000000';

  async up(runner: QueryRunner): Promise<void> {
    if (await restoreTables(runner, TABLES)) return;
    await runner.query(`
      CREATE TABLE rule_override (
        id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
        merchant_id text COLLATE "C" NOT NULL,
        rule_id bigint NOT NULL,
        number integer NOT NULL,
        multiply integer,
        limits jsonb,
        limits_before jsonb NOT NULL,
        from_at timestamptz NOT NULL,
        until_at timestamptz NOT NULL,
        deleted boolean NOT NULL DEFAULT false,
        remembered boolean NOT NULL DEFAULT true,
        end_recorded boolean NOT NULL DEFAULT false,
        reason text,
        created_by text NOT NULL,
        CONSTRAINT rule_override_pkey PRIMARY KEY (id)
      )`);
    await runner.query('CREATE UNIQUE INDEX rule_override_number ON rule_override (merchant_id, rule_id, number)');
    await runner.query('CREATE INDEX rule_override_of_merchant ON rule_override (merchant_id, id)');
    await runner.query('CREATE INDEX rule_override_ends ON rule_override (until_at) WHERE NOT end_recorded');
  }

  /** Keeps every row: see archive.ts. */
  async down(runner: QueryRunner): Promise<void> {
    await archiveTables(runner, TABLES);
  }
}

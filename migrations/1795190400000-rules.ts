import type { MigrationInterface, QueryRunner } from 'typeorm';
import { archiveTables, restoreTables } from './archive.js';

const TABLES = ['merchant', 'rule', 'default_rules_version', 'deleted_merchant'] as const;

/** Creates merchants, rules, and the versions of their snapshots. */
export class Rules1795190400000 implements MigrationInterface {
  readonly name = 'Rules1795190400000';

  async up(runner: QueryRunner): Promise<void> {
    if (await restoreTables(runner, TABLES)) return;
    // COLLATE "C" compares ids byte by byte, so that keyset pagination does not depend on the server's locale.
    await runner.query(`
      CREATE TABLE merchant (
        id text COLLATE "C" NOT NULL,
        name text NOT NULL,
        time_zone text NOT NULL,
        version integer NOT NULL,
        rules_version bigint NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT merchant_pkey PRIMARY KEY (id)
      )`);
    await runner.query(`
      CREATE TABLE rule (
        id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
        merchant_id text COLLATE "C",
        name text NOT NULL,
        layer text NOT NULL,
        priority integer NOT NULL,
        enabled boolean NOT NULL,
        mode text NOT NULL,
        match jsonb NOT NULL,
        key jsonb NOT NULL,
        limits jsonb NOT NULL,
        cost integer NOT NULL,
        on_store_failure text NOT NULL,
        version integer NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT rule_pkey PRIMARY KEY (id),
        CONSTRAINT rule_merchant_fkey FOREIGN KEY (merchant_id) REFERENCES merchant (id) ON DELETE CASCADE
      )`);
    await runner.query('CREATE UNIQUE INDEX rule_name_of_merchant ON rule (merchant_id, name) WHERE merchant_id IS NOT NULL');
    await runner.query('CREATE UNIQUE INDEX rule_name_of_default ON rule (name) WHERE merchant_id IS NULL');
    await runner.query('CREATE INDEX rule_by_priority ON rule (merchant_id, priority, id)');
    await runner.query(`
      CREATE TABLE default_rules_version (
        only_row boolean NOT NULL DEFAULT true,
        version bigint NOT NULL,
        CONSTRAINT default_rules_version_pkey PRIMARY KEY (only_row),
        CONSTRAINT default_rules_version_only_row CHECK (only_row)
      )`);
    await runner.query('INSERT INTO default_rules_version (version) VALUES (0)');
    await runner.query(`
      CREATE TABLE deleted_merchant (
        merchant_id text COLLATE "C" NOT NULL,
        rules_version bigint NOT NULL,
        deleted_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT deleted_merchant_pkey PRIMARY KEY (merchant_id)
      )`);
  }

  /** Archives the tables with every row: see archive.ts. */
  async down(runner: QueryRunner): Promise<void> {
    await archiveTables(runner, TABLES);
  }
}

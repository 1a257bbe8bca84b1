import type { MigrationInterface, QueryRunner } from 'typeorm';
import { archiveTables, restoreTables } from './archive.js';

const TABLES = ['audit', 'outbox'] as const;

/** Creates the two tables that each change also writes to: the audit, and the outbox that the preloader relays to its queue. */
export class ChangeLog1795190500000 implements MigrationInterface {
  readonly name = 'ChangeLog1795190500000';

  async up(runner: QueryRunner): Promise<void> {
    if (await restoreTables(runner, TABLES)) return;
    // Neither table has a foreign key, because their rows outlive the merchant.
    await runner.query(`
      CREATE TABLE audit (
        id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
        at timestamptz NOT NULL DEFAULT now(),
        actor text NOT NULL,
        request_id text,
        action text NOT NULL,
        merchant_id text COLLATE "C",
        rule_id bigint,
        before jsonb,
        after jsonb,
        CONSTRAINT audit_pkey PRIMARY KEY (id)
      )`);
    await runner.query('CREATE INDEX audit_of_merchant ON audit (merchant_id, id)');
    await runner.query(`
      CREATE TABLE outbox (
        id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
        merchant_id text COLLATE "C",
        version bigint NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT outbox_pkey PRIMARY KEY (id)
      )`);
  }

  /** Archives the tables with every row: see archive.ts. */
  async down(runner: QueryRunner): Promise<void> {
    await archiveTables(runner, TABLES);
  }
}

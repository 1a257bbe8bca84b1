import type { MigrationInterface, QueryRunner } from 'typeorm';
import { archiveTables, restoreTables } from './archive.js';

const TABLES = ['approval'] as const;

/** Changes that wait for a second administrator. */
export class Approvals1795406000000 implements MigrationInterface {
  readonly name = 'Approvals1795406000000';

  async up(runner: QueryRunner): Promise<void> {
    if (await restoreTables(runner, TABLES)) return;
    await runner.query(`
      CREATE TABLE approval (
        id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
        state text NOT NULL,
        merchant_id text COLLATE "C",
        change jsonb NOT NULL,
        proposed_by text NOT NULL,
        reason text,
        created_at timestamptz NOT NULL DEFAULT now(),
        expires_at timestamptz NOT NULL,
        decided_by text,
        decided_at timestamptz,
        decision_reason text,
        CONSTRAINT approval_pkey PRIMARY KEY (id)
      )`);
    await runner.query('CREATE INDEX approval_of_merchant ON approval (merchant_id, id)');
    await runner.query(`CREATE INDEX approval_wanted ON approval (expires_at) WHERE state = 'wanted'`);
  }

  /** Archives the table with every row: see archive.ts. */
  async down(runner: QueryRunner): Promise<void> {
    await archiveTables(runner, TABLES);
  }
}

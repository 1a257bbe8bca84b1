import type { MigrationInterface, QueryRunner } from 'typeorm';
import { archiveTables, restoreTables } from './archive.js';

const TABLES = ['switch'] as const;

/** What is switched on: a row for each name and scope. What is off has none. */
export class Switches1796000000000 implements MigrationInterface {
  readonly name = 'Switches1796000000000';

  async up(runner: QueryRunner): Promise<void> {
    if (await restoreTables(runner, TABLES)) return;
    await runner.query(`
      CREATE TABLE switch (
        id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
        name text NOT NULL,
        layer text,
        merchant_id text COLLATE "C",
        until_at timestamptz,
        reason text,
        actor text NOT NULL,
        at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT switch_pkey PRIMARY KEY (id)
      )`);
  }

  /** Archives the table with every row: see archive.ts. */
  async down(runner: QueryRunner): Promise<void> {
    await archiveTables(runner, TABLES);
  }
}

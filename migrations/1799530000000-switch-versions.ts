import type { MigrationInterface, QueryRunner } from 'typeorm';
import { archiveTables, restoreTables } from './archive.js';

const TABLES = ['switch_version'] as const;

/** How often each switch was changed, by its name. One that never was has no row, and the version 1. */
export class SwitchVersions1799530000000 implements MigrationInterface {
  readonly name = 'SwitchVersions1799530000000';

  async up(runner: QueryRunner): Promise<void> {
    if (await restoreTables(runner, TABLES)) return;
    await runner.query(`
      CREATE TABLE switch_version (
        name text NOT NULL,
        version integer NOT NULL,
        CONSTRAINT switch_version_pkey PRIMARY KEY (name)
      )`);
  }

  /** Archives the table with every row: see archive.ts. */
  async down(runner: QueryRunner): Promise<void> {
    await archiveTables(runner, TABLES);
  }
}

import type { MigrationInterface, QueryRunner } from 'typeorm';
import { archiveTables, restoreTables } from './archive.js';

const TABLES = ['idempotency_key'] as const;

/** The answers to requests with an Idempotency-Key, for a day. */
export class IdempotencyKeys1795400300000 implements MigrationInterface {
  readonly name = 'IdempotencyKeys1795400300000';

  async up(runner: QueryRunner): Promise<void> {
    if (await restoreTables(runner, TABLES)) return;
    await runner.query(`
      CREATE TABLE idempotency_key (
        bearer text NOT NULL,
        key text NOT NULL,
        request_hash bytea NOT NULL,
        status integer,
        answer text,
        created_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT idempotency_key_pkey PRIMARY KEY (bearer, key)
      )`);
    await runner.query('CREATE INDEX idempotency_key_created_at ON idempotency_key (created_at)');
  }

  /** Archives the table with every row: see archive.ts. */
  async down(runner: QueryRunner): Promise<void> {
    await archiveTables(runner, TABLES);
  }
}

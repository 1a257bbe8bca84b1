import type { MigrationInterface, QueryRunner } from 'typeorm';
import { archiveTables, restoreTables } from './archive.js';

const TABLES = ['api_token'] as const;

/** Tokens of administrators and machines: keyed hashes only, and a prefix by which a token is found. */
export class ApiTokens1795400100000 implements MigrationInterface {
  readonly name = 'ApiTokens1795400100000';

  async up(runner: QueryRunner): Promise<void> {
    if (await restoreTables(runner, TABLES)) return;
    await runner.query(`
      CREATE TABLE api_token (
        id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
        name text NOT NULL,
        role text NOT NULL,
        merchants jsonb,
        prefix text NOT NULL,
        hash bytea NOT NULL,
        former_prefix text,
        former_hash bytea,
        former_until timestamptz,
        expires_at timestamptz,
        last_used_at timestamptz,
        created_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT api_token_pkey PRIMARY KEY (id)
      )`);
    await runner.query('CREATE UNIQUE INDEX api_token_name ON api_token (name)');
    await runner.query('CREATE UNIQUE INDEX api_token_prefix ON api_token (prefix)');
    await runner.query('CREATE UNIQUE INDEX api_token_former_prefix ON api_token (former_prefix)');
  }

  /** Keeps every row: see archive.ts. */
  async down(runner: QueryRunner): Promise<void> {
    await archiveTables(runner, TABLES);
  }
}

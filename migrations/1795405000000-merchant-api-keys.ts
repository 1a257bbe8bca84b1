import type { MigrationInterface, QueryRunner } from 'typeorm';
import { archiveTables, restoreTables } from './archive.js';

const TABLES = ['merchant_api_key'] as const;

/** API keys of merchants: hashes only, and a prefix by which a key is found. They end with their merchant. */
export class MerchantApiKeys1795405000000 implements MigrationInterface {
  readonly name = 'MerchantApiKeys1795405000000';

  async up(runner: QueryRunner): Promise<void> {
    if (await restoreTables(runner, TABLES)) return;
    await runner.query(`
      CREATE TABLE merchant_api_key (
        id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
        merchant_id text COLLATE "C" NOT NULL,
        name text NOT NULL,
        user_id text,
        labels jsonb NOT NULL DEFAULT '{}' CONSTRAINT merchant_api_key_labels_object CHECK (jsonb_typeof(labels) = 'object'),
        prefix text NOT NULL,
        hash bytea NOT NULL,
        former_prefix text,
        former_hash bytea,
        former_until timestamptz,
        expires_at timestamptz,
        last_used_at timestamptz,
        created_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT merchant_api_key_pkey PRIMARY KEY (id),
        CONSTRAINT merchant_api_key_merchant_fkey FOREIGN KEY (merchant_id) REFERENCES merchant (id) ON DELETE CASCADE
      )`);
    await runner.query('CREATE UNIQUE INDEX merchant_api_key_name ON merchant_api_key (merchant_id, name)');
    await runner.query('CREATE INDEX merchant_api_key_of_merchant ON merchant_api_key (merchant_id, id)');
    await runner.query('CREATE UNIQUE INDEX merchant_api_key_prefix ON merchant_api_key (prefix)');
    await runner.query('CREATE UNIQUE INDEX merchant_api_key_former_prefix ON merchant_api_key (former_prefix)');
  }

  /** Keeps every row: see archive.ts. */
  async down(runner: QueryRunner): Promise<void> {
    await archiveTables(runner, TABLES);
  }
}

import type { MigrationInterface, QueryRunner } from 'typeorm';
import { archiveTables, restoreTables } from './archive.js';

const TABLES = ['webhook', 'webhook_event', 'webhook_delivery'] as const;

/** Who is told of changes, what there is to tell, and which of it has been told to whom. */
export class Webhooks1795406010000 implements MigrationInterface {
  readonly name = 'Webhooks1795406010000';

  async up(runner: QueryRunner): Promise<void> {
    if (await restoreTables(runner, TABLES)) return;
    await runner.query(`
      CREATE TABLE webhook (
        id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
        url text NOT NULL,
        events jsonb NOT NULL,
        enabled boolean NOT NULL,
        labels jsonb NOT NULL DEFAULT '{}',
        secret bytea NOT NULL,
        former_secret bytea,
        former_until timestamptz,
        version integer NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT webhook_pkey PRIMARY KEY (id)
      )`);
    // The body is text and not jsonb, because its very bytes are signed.
    await runner.query(`
      CREATE TABLE webhook_event (
        id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
        message_id uuid NOT NULL DEFAULT gen_random_uuid(),
        type text NOT NULL,
        body text NOT NULL,
        routed boolean NOT NULL DEFAULT false,
        created_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT webhook_event_pkey PRIMARY KEY (id)
      )`);
    await runner.query('CREATE INDEX webhook_event_unrouted ON webhook_event (id) WHERE NOT routed');
    await runner.query(`
      CREATE TABLE webhook_delivery (
        id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
        webhook_id bigint NOT NULL,
        event_id bigint NOT NULL,
        state text NOT NULL DEFAULT 'pending',
        attempts integer NOT NULL DEFAULT 0,
        next_attempt_at timestamptz NOT NULL DEFAULT now(),
        last_attempt_at timestamptz,
        last_status integer,
        last_error text,
        finished_at timestamptz,
        created_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT webhook_delivery_pkey PRIMARY KEY (id),
        CONSTRAINT webhook_delivery_webhook FOREIGN KEY (webhook_id) REFERENCES webhook (id) ON DELETE CASCADE,
        CONSTRAINT webhook_delivery_event FOREIGN KEY (event_id) REFERENCES webhook_event (id)
      )`);
    await runner.query('CREATE INDEX webhook_delivery_of_webhook ON webhook_delivery (webhook_id, id)');
    await runner.query(`CREATE INDEX webhook_delivery_due ON webhook_delivery (webhook_id, next_attempt_at) WHERE state = 'pending'`);
    await runner.query('CREATE INDEX webhook_delivery_of_event ON webhook_delivery (event_id)');
    await runner.query('CREATE INDEX webhook_delivery_finished ON webhook_delivery (finished_at) WHERE finished_at IS NOT NULL');
  }

  /** Archives the tables with every row: see archive.ts. */
  async down(runner: QueryRunner): Promise<void> {
    await archiveTables(runner, TABLES);
  }
}

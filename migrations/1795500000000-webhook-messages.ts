import type { MigrationInterface, QueryRunner } from 'typeorm';

/** An event that is recorded again, because nobody knows whether it was recorded, is the same event. */
export class WebhookMessages1795500000000 implements MigrationInterface {
  readonly name = 'WebhookMessages1795500000000';

  async up(runner: QueryRunner): Promise<void> {
    // Changes wait meanwhile. The table holds what was told in a week, so building takes seconds at most; otherwise the migration is tried again.
    await runner.query(`SET LOCAL lock_timeout = '3s'`);
    await runner.query(`SET LOCAL statement_timeout = '60s'`);
    await runner.query('CREATE UNIQUE INDEX webhook_event_message ON webhook_event (message_id)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`SET LOCAL lock_timeout = '3s'`);
    await runner.query('DROP INDEX webhook_event_message');
  }
}

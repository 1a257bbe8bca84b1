import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Adds the index by which the audit of a time is found. The chain has its own order, in which times nearly rise, so one row of each end is enough: see
 * `AuditRepository`. It is not built concurrently, as the one of labels.
 */
export class AuditByTime1797000000000 implements MigrationInterface {
  readonly name = 'AuditByTime1797000000000';

  async up(runner: QueryRunner): Promise<void> {
    // Writers wait meanwhile, and readers do not. If one of them takes longer, the migration is tried again.
    await runner.query(`SET LOCAL lock_timeout = '3s'`);
    await runner.query('CREATE INDEX audit_by_time ON audit (at, seq)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`SET LOCAL lock_timeout = '3s'`);
    await runner.query('DROP INDEX audit_by_time');
  }
}

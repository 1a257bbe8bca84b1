import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndex, dropIndex } from './steps.js';

/**
 * Adds the index by which the audit of a time is found. The chain has its own order, in which times nearly rise, so one row of each end is enough: see
 * `auditQuery`.
 */
export class AuditByTime1797000000000 implements MigrationInterface {
  readonly name = 'AuditByTime1797000000000';
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await createIndex(runner, 'audit_by_time', 'ON audit (at, seq)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await dropIndex(runner, 'audit_by_time');
  }
}

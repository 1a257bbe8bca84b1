import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndex, dropIndex } from './steps.js';

/** Adds the index by which the history of a token is found: its rows have the id of the token in what was written, and there are few of them. */
export class AuditOfToken1799520000000 implements MigrationInterface {
  readonly name = 'AuditOfToken1799520000000';
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await createIndex(runner, 'audit_of_token', `ON audit ((coalesce(after, before) ->> 'id'), seq) WHERE action LIKE 'token.%'`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await dropIndex(runner, 'audit_of_token');
  }
}

import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndex, dropIndex } from './steps.js';

/** Adds the index by which the history of a switch is found: its rows have the name of the switch in what was written, and there are few of them. */
export class AuditOfSwitch1799531000000 implements MigrationInterface {
  readonly name = 'AuditOfSwitch1799531000000';
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await createIndex(runner, 'audit_of_switch', `ON audit ((coalesce(after, before) ->> 'name'), seq) WHERE action LIKE 'switch.%'`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await dropIndex(runner, 'audit_of_switch');
  }
}

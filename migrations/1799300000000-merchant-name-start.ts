import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndex, dropIndex } from './steps.js';

/**
 * Adds the index that has the merchants of each first three letters in the order of the list. The index of whole names has them in the order of names: a search
 * for a name that 100,000 merchants share had to fetch all of them to find the first page.
 */
export class MerchantNameStart1799300000000 implements MigrationInterface {
  readonly name = 'MerchantNameStart1799300000000';
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await createIndex(runner, 'merchant_name_start', 'ON merchant ((left(lower(name), 3) COLLATE "C"), id)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await dropIndex(runner, 'merchant_name_start');
  }
}

import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';
import { bigintNumber } from './bigint-number.js';

/** What is left of a deleted merchant: its last version, so that one created under the same id counts on from there. */
@Entity('deleted_merchant')
export class DeletedMerchantEntity {
  @PrimaryColumn({ name: 'merchant_id', type: 'text', collation: 'C', primaryKeyConstraintName: 'deleted_merchant_pkey' })
  merchantId: string;

  @Column({ name: 'rules_version', type: 'bigint', transformer: bigintNumber })
  rulesVersion: number;

  @CreateDateColumn({ name: 'deleted_at', type: 'timestamptz' })
  deletedAt: Date;
}

import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';
import { bigintNumber } from '../connection/bigint-number.js';

/** The tombstone of a deleted merchant: its last version. A merchant that is created under the same id continues from there. */
@Entity('deleted_merchant')
export class DeletedMerchantEntity {
  @PrimaryColumn({ name: 'merchant_id', type: 'text', collation: 'C', primaryKeyConstraintName: 'deleted_merchant_pkey' })
  merchantId: string;

  @Column({ name: 'rules_version', type: 'bigint', transformer: bigintNumber })
  rulesVersion: number;

  @CreateDateColumn({ name: 'deleted_at', type: 'timestamptz' })
  deletedAt: Date;
}

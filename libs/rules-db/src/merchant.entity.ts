import { Check, Column, CreateDateColumn, Entity, Index, PrimaryColumn, UpdateDateColumn } from 'typeorm';
import type { Labels } from '#limiter';
import { bigintNumber } from './bigint-number.js';

/** A customer whose requests are limited. */
@Entity('merchant')
@Check('merchant_labels_object', `jsonb_typeof(labels) = 'object'`)
// Only the migration can say which kind of index they are.
@Index('merchant_labels', { synchronize: false })
@Index('merchant_name_prefix', { synchronize: false })
export class MerchantEntity {
  @PrimaryColumn({ type: 'text', collation: 'C', primaryKeyConstraintName: 'merchant_pkey' })
  id: string;

  @Column({ type: 'text' })
  name: string;

  /** An IANA name, for limits that follow the merchant's calendar. */
  @Column({ name: 'time_zone', type: 'text' })
  timeZone: string;

  @Column({ type: 'jsonb', default: {} })
  labels: Labels;

  /** Counts the changes of this row; the API shows it as the ETag. */
  @Column({ type: 'integer' })
  version: number;

  /** The version of the snapshot; it grows with every change of the merchant or its rules. */
  @Column({ name: 'rules_version', type: 'bigint', transformer: bigintNumber })
  rulesVersion: number;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @UpdateDateColumn({ name: 'updated_at', type: 'timestamptz' })
  updatedAt: Date;
}

import { Check, Column, CreateDateColumn, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn, UpdateDateColumn } from 'typeorm';
import type { Labels } from '#limiter';
import { bigintNumber } from '../connection/bigint-number.js';
import { PlanEntity } from '../rules/plan.entity.js';

export const MERCHANT_PLAN = 'merchant_plan_fkey';

/** A customer whose requests are limited. */
@Entity('merchant')
@Check('merchant_labels_object', `jsonb_typeof(labels) = 'object'`)
// Only the migration can say which kind of index they are.
@Index('merchant_labels', { synchronize: false })
@Index('merchant_name_prefix', { synchronize: false })
@Index('merchant_name_start', { synchronize: false })
@Index('merchant_of_plan', ['plan', 'id'], { where: 'plan IS NOT NULL' })
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

  /** Whose rules it shares; null: of none. */
  @Column({ type: 'text', collation: 'C', nullable: true })
  plan: string | null;

  /** Only declares the foreign key; queries use `plan`. */
  @ManyToOne(() => PlanEntity, { nullable: true })
  @JoinColumn({ name: 'plan', foreignKeyConstraintName: MERCHANT_PLAN })
  planOfMerchant?: unknown;

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

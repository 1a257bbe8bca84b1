import { Column, Entity, Index, PrimaryGeneratedColumn } from 'typeorm';
import type { LimitBefore, OtherNumbers } from '#limiter';

/** The numbers in place of those of a limit, with the name that the limit had then. */
export type NamedNumbers = OtherNumbers & { readonly name: string };

/** An override of a rule for one merchant. */
@Entity('rule_override')
@Index('rule_override_number', ['merchantId', 'ruleId', 'number'], { unique: true })
@Index('rule_override_of_merchant', ['merchantId', 'id'])
@Index('rule_override_ends', ['untilAt'], { where: 'NOT end_recorded' })
export class OverrideEntity {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS', primaryKeyConstraintName: 'rule_override_pkey' })
  id: string;

  @Column({ name: 'merchant_id', type: 'text', collation: 'C' })
  merchantId: string;

  @Column({ name: 'rule_id', type: 'bigint' })
  ruleId: string;

  /** Counts the overrides that this rule has had for this merchant. */
  @Column({ type: 'integer' })
  number: number;

  @Column({ type: 'integer', nullable: true })
  multiply: number | null;

  /** Instead of `multiply`. */
  @Column({ type: 'jsonb', nullable: true })
  limits: readonly NamedNumbers[] | null;

  @Column({ name: 'limits_before', type: 'jsonb' })
  limitsBefore: readonly LimitBefore[];

  @Column({ name: 'from_at', type: 'timestamptz' })
  fromAt: Date;

  /** When it ends, or when it was ended by hand. */
  @Column({ name: 'until_at', type: 'timestamptz' })
  untilAt: Date;

  @Column({ type: 'boolean', default: false })
  deleted: boolean;

  /** Whether snapshots still have it. */
  @Column({ type: 'boolean', default: true })
  remembered: boolean;

  /** Whether the audit says that it has ended. */
  @Column({ name: 'end_recorded', type: 'boolean', default: false })
  endRecorded: boolean;

  @Column({ type: 'text', nullable: true })
  reason: string | null;

  @Column({ name: 'created_by', type: 'text' })
  createdBy: string;
}

import { Column, CreateDateColumn, Entity, Index, PrimaryGeneratedColumn } from 'typeorm';

export type AuditAction = 'merchant.created' | 'merchant.updated' | 'merchant.deleted' | 'rule.created' | 'rule.replaced' | 'rule.deleted';

/** One change of a merchant or a rule: when, by whom, and the row before and after it. */
@Entity('audit')
@Index('audit_of_merchant', ['merchantId', 'id'])
export class AuditEntity {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS', primaryKeyConstraintName: 'audit_pkey' })
  id: string;

  @CreateDateColumn({ type: 'timestamptz' })
  at: Date;

  @Column({ type: 'text' })
  actor: string;

  @Column({ name: 'request_id', type: 'text', nullable: true })
  requestId: string | null;

  @Column({ type: 'text' })
  action: AuditAction;

  /** Null: a default rule changed. */
  @Column({ name: 'merchant_id', type: 'text', collation: 'C', nullable: true })
  merchantId: string | null;

  @Column({ name: 'rule_id', type: 'bigint', nullable: true })
  ruleId: string | null;

  @Column({ type: 'jsonb', nullable: true })
  before: object | null;

  @Column({ type: 'jsonb', nullable: true })
  after: object | null;
}

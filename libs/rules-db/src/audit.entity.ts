import { Column, CreateDateColumn, Entity, Index, PrimaryGeneratedColumn } from 'typeorm';

export const AUDIT_ACTIONS = [
  'merchant.created',
  'merchant.updated',
  'merchant.reverted',
  'merchant.deleted',
  'rule.created',
  'rule.replaced',
  'rule.reverted',
  'rule.deleted',
  'override.created',
  'override.deleted',
  'override.ended',
  'bucket.reset',
  'bucket.adjusted',
  'bucket.blocked',
  'bucket.unblocked',
  'plan.created',
  'plan.replaced',
  'plan.reverted',
  'plan.deleted',
  'token.created',
  'token.rotated',
  'token.deleted',
  'api_key.created',
  'api_key.rotated',
  'api_key.deleted',
  'approval.wanted',
  'approval.approved',
  'approval.rejected',
  'approval.outdated',
  'switch.on',
  'switch.off',
  'webhook.created',
  'webhook.updated',
  'webhook.rotated',
  'webhook.tested',
  'webhook.retried',
  'webhook.deleted',
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** Who changed what, when, why, from what to what. Rows are neither changed nor deleted; see the migration audit-chain. */
@Entity('audit')
@Index('audit_by_seq', ['seq'], { unique: true })
@Index('audit_of_merchant', ['merchantId', 'seq'])
@Index('audit_of_rule', ['ruleId', 'seq'])
// An expression: the plan is a part of what was written.
@Index('audit_of_plan', { synchronize: false })
// Another one, of the rows of tokens alone: the id of the token.
@Index('audit_of_token', { synchronize: false })
// Likewise: those of switches, by the name in what was written.
@Index('audit_of_switch', { synchronize: false })
@Index('audit_of_actor', ['actor', 'seq'])
@Index('audit_by_time', ['at', 'seq'])
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

  /** Null: a default rule changed, or a plan: then `before` and `after` have its name in `plan`. */
  @Column({ name: 'merchant_id', type: 'text', collation: 'C', nullable: true })
  merchantId: string | null;

  @Column({ name: 'rule_id', type: 'bigint', nullable: true })
  ruleId: string | null;

  @Column({ type: 'jsonb', nullable: true })
  before: object | null;

  @Column({ type: 'jsonb', nullable: true })
  after: object | null;

  /** Why, in the words of the one who made the change. */
  @Column({ type: 'text', nullable: true })
  reason: string | null;

  /** The place in the chain, from 1, without gaps. A trigger writes it. */
  @Column({ type: 'bigint', insert: false, update: false })
  seq: string;

  /** SHA-256 over the hash of the row before and the content of this one. A trigger writes it. */
  @Column({ type: 'bytea', insert: false, update: false, select: false })
  hash: Buffer;
}

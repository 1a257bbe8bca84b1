import { Column, CreateDateColumn, Entity, Index, PrimaryGeneratedColumn } from 'typeorm';
import type { ProposedChange } from './protected-rule.js';

export const APPROVAL_STATES = ['wanted', 'approved', 'rejected', 'outdated', 'expired'] as const;
export type ApprovalState = (typeof APPROVAL_STATES)[number];

/** A change that waits for a second administrator, or waited. */
@Entity('approval')
@Index('approval_of_merchant', ['merchantId', 'id'])
@Index('approval_wanted', { synchronize: false })
export class ApprovalEntity {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS', primaryKeyConstraintName: 'approval_pkey' })
  id: string;

  /** Nothing is written when it expires: a row that says `wanted` may have expired. */
  @Column({ type: 'text' })
  state: Exclude<ApprovalState, 'expired'>;

  /** Null: it concerns all merchants. */
  @Column({ name: 'merchant_id', type: 'text', collation: 'C', nullable: true })
  merchantId: string | null;

  @Column({ type: 'jsonb' })
  change: ProposedChange;

  /** The name of whoever wants the change. */
  @Column({ name: 'proposed_by', type: 'text' })
  proposedBy: string;

  @Column({ type: 'text', nullable: true })
  reason: string | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @Column({ name: 'expires_at', type: 'timestamptz' })
  expiresAt: Date;

  @Column({ name: 'decided_by', type: 'text', nullable: true })
  decidedBy: string | null;

  @Column({ name: 'decided_at', type: 'timestamptz', nullable: true })
  decidedAt: Date | null;

  @Column({ name: 'decision_reason', type: 'text', nullable: true })
  decisionReason: string | null;
}

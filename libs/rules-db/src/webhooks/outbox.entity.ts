import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn } from 'typeorm';
import { bigintNumber } from '../connection/bigint-number.js';

/** A change that is committed and whose reload is not yet in the queue. */
@Entity('outbox')
export class OutboxEntity {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS', primaryKeyConstraintName: 'outbox_pkey' })
  id: string;

  /** Null: the default rules changed, or the plan. */
  @Column({ name: 'merchant_id', type: 'text', collation: 'C', nullable: true })
  merchantId: string | null;

  /** The plan that changed. Preloaders that know no plans read the default rules again instead, which does no harm. */
  @Column({ type: 'text', collation: 'C', nullable: true })
  plan: string | null;

  @Column({ type: 'bigint', transformer: bigintNumber })
  version: number;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;
}

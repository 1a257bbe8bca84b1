import { Column, CreateDateColumn, Entity, Index, PrimaryColumn } from 'typeorm';

/** A request that was sent with an Idempotency-Key, and its answer once there is one. */
@Entity('idempotency_key')
@Index('idempotency_key_created_at', ['createdAt'])
export class IdempotencyKeyEntity {
  /** The name of the bearer of the token: keys of others are others. */
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'idempotency_key_pkey' })
  bearer: string;

  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'idempotency_key_pkey' })
  key: string;

  @Column({ name: 'request_hash', type: 'bytea' })
  requestHash: Buffer;

  /** Null: the request is still being answered. */
  @Column({ type: 'integer', nullable: true })
  status: number | null;

  /** JSON. It is text, because jsonb would reorder what is in it. Null: it may not be kept. */
  @Column({ type: 'text', nullable: true })
  answer: string | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;
}

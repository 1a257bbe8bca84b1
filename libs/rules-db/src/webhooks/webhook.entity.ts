import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn, UpdateDateColumn } from 'typeorm';
import type { Labels } from '#limiter';

/** What receivers can be told. */
export const WEBHOOK_EVENTS = ['rule.changed', 'approval.wanted', 'override.ended', 'limit.80', 'limit.100', 'key.refused'] as const;
export type WebhookEventType = (typeof WEBHOOK_EVENTS)[number];

/** Told on demand only, so that somebody sees whether a receiver is reached. */
export const TEST_EVENT = 'webhook.test';

/** Who is told of changes. */
@Entity('webhook')
export class WebhookEntity {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS', primaryKeyConstraintName: 'webhook_pkey' })
  id: string;

  @Column({ type: 'text' })
  url: string;

  @Column({ type: 'jsonb' })
  events: readonly WebhookEventType[];

  @Column({ type: 'boolean' })
  enabled: boolean;

  @Column({ type: 'jsonb', default: {} })
  labels: Labels;

  /** Encrypted: it has to be known for signing. */
  @Column({ type: 'bytea', select: false })
  secret: Buffer;

  /** The one before the last rotation, as long as both sign. */
  @Column({ name: 'former_secret', type: 'bytea', nullable: true, select: false })
  formerSecret: Buffer | null;

  @Column({ name: 'former_until', type: 'timestamptz', nullable: true })
  formerUntil: Date | null;

  /** Counts the changes of this row; the API shows it as the ETag. */
  @Column({ type: 'integer' })
  version: number;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @UpdateDateColumn({ name: 'updated_at', type: 'timestamptz' })
  updatedAt: Date;
}

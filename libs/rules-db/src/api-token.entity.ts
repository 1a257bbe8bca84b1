import { Column, CreateDateColumn, Entity, Index, PrimaryGeneratedColumn } from 'typeorm';

/** What the bearer of a token may do; each role may do what those before it may. */
export const ROLES = ['viewer', 'editor', 'approver', 'admin'] as const;
export type Role = (typeof ROLES)[number];

export const API_TOKEN_NAME = 'api_token_name';

/** A token of an administrator or a machine. The token itself is stored nowhere. */
@Entity('api_token')
@Index(API_TOKEN_NAME, ['name'], { unique: true })
@Index('api_token_prefix', ['prefix'], { unique: true })
@Index('api_token_former_prefix', ['formerPrefix'], { unique: true })
export class ApiTokenEntity {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS', primaryKeyConstraintName: 'api_token_pkey' })
  id: string;

  /** Stands in the audit as the one who made a change. */
  @Column({ type: 'text' })
  name: string;

  @Column({ type: 'text' })
  role: Role;

  /** The merchants to which the token is limited; null: all. */
  @Column({ type: 'jsonb', nullable: true })
  merchants: readonly string[] | null;

  /** The beginning of the token, by which it is found. */
  @Column({ type: 'text' })
  prefix: string;

  @Column({ type: 'bytea', select: false })
  hash: Buffer;

  /** The token before the last rotation, as long as both are good. */
  @Column({ name: 'former_prefix', type: 'text', nullable: true })
  formerPrefix: string | null;

  @Column({ name: 'former_hash', type: 'bytea', nullable: true, select: false })
  formerHash: Buffer | null;

  @Column({ name: 'former_until', type: 'timestamptz', nullable: true })
  formerUntil: Date | null;

  /** Null: never. */
  @Column({ name: 'expires_at', type: 'timestamptz', nullable: true })
  expiresAt: Date | null;

  /** To the minute; null: never. */
  @Column({ name: 'last_used_at', type: 'timestamptz', nullable: true })
  lastUsedAt: Date | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;
}

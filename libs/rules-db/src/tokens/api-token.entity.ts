import { Column, Entity, Index, PrimaryGeneratedColumn } from 'typeorm';
import { RotatingSecretEntity } from './rotating-secret.js';

/** What the bearer of a token may do; each role may do what those before it may. */
export const ROLES = ['viewer', 'editor', 'approver', 'admin'] as const;
export type Role = (typeof ROLES)[number];

export const API_TOKEN_NAME = 'api_token_name';

/** A token of an administrator or a machine. The token itself is stored nowhere. */
@Entity('api_token')
@Index(API_TOKEN_NAME, ['name'], { unique: true })
@Index('api_token_prefix', ['prefix'], { unique: true })
@Index('api_token_former_prefix', ['formerPrefix'], { unique: true })
export class ApiTokenEntity extends RotatingSecretEntity {
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

  /** The label of the merchants to which the token is limited, as NAME=VALUE; null: none. With a label `merchants` is empty. */
  @Column({ type: 'text', nullable: true })
  label: string | null;
}

import { Check, Column, Entity, Index, JoinColumn, ManyToOne, PrimaryGeneratedColumn } from 'typeorm';
import type { Labels } from '#limiter';
import { MerchantEntity } from './merchant.entity.js';
import { RotatingSecretEntity } from '../tokens/rotating-secret.js';

export const API_KEY_NAME = 'merchant_api_key_name';

/** A key by which a merchant is known. It ends with the merchant. */
@Entity('merchant_api_key')
@Index(API_KEY_NAME, ['merchantId', 'name'], { unique: true })
@Index('merchant_api_key_of_merchant', ['merchantId', 'id'])
@Index('merchant_api_key_prefix', ['prefix'], { unique: true })
@Index('merchant_api_key_former_prefix', ['formerPrefix'], { unique: true })
@Check('merchant_api_key_labels_object', `jsonb_typeof(labels) = 'object'`)
export class MerchantApiKeyEntity extends RotatingSecretEntity {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS', primaryKeyConstraintName: 'merchant_api_key_pkey' })
  id: string;

  @Column({ name: 'merchant_id', type: 'text', collation: 'C' })
  merchantId: string;

  /** Only declares the foreign key; queries use `merchantId`. */
  @ManyToOne(() => MerchantEntity, { nullable: false, onDelete: 'CASCADE' })
  @JoinColumn({ name: 'merchant_id', foreignKeyConstraintName: 'merchant_api_key_merchant_fkey' })
  merchant?: unknown;

  /** For people. */
  @Column({ type: 'text' })
  name: string;

  /** The user of the merchant that sends with this key; null: none in particular. */
  @Column({ name: 'user_id', type: 'text', nullable: true })
  user: string | null;

  @Column({ type: 'jsonb', default: {} })
  labels: Labels;
}

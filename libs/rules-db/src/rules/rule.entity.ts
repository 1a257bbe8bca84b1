import {
  AfterLoad,
  Check,
  Column,
  CreateDateColumn,
  Entity,
  Index,
  JoinColumn,
  ManyToOne,
  PrimaryGeneratedColumn,
  UpdateDateColumn,
} from 'typeorm';
import type {
  Charge,
  Consistency,
  Cost,
  CostOfField,
  KeyPart,
  Labels,
  Layer,
  Limit,
  Mode,
  OnLimit,
  Penalty,
  ReservedShare,
  Rule,
  RuleMatch,
  Schedule,
  StoreFailurePolicy,
  UnreadableBodyPolicy,
} from '#limiter';
import { MerchantEntity } from '../merchants/merchant.entity.js';
import { PlanEntity } from './plan.entity.js';
import { consistencyColumn, storeFailureColumn } from './stored-consistency.js';
import { costColumn } from './stored-cost.js';
import { modeColumn } from './stored-mode.js';

export const RULE_NAME_OF_MERCHANT = 'rule_name_of_merchant';
export const RULE_NAME_OF_DEFAULT = 'rule_name_of_default';
export const RULE_NAME_OF_PLAN = 'rule_name_of_plan';

/** A rule as it is stored. A rule without a merchant and without a plan is a default rule. */
@Entity('rule')
@Index(RULE_NAME_OF_MERCHANT, ['merchantId', 'name'], { unique: true, where: 'merchant_id IS NOT NULL' })
@Index(RULE_NAME_OF_DEFAULT, ['name'], { unique: true, where: 'merchant_id IS NULL AND plan IS NULL' })
@Index(RULE_NAME_OF_PLAN, ['plan', 'name'], { unique: true, where: 'plan IS NOT NULL' })
// Only the migration can say which kind of index it is.
@Index('rule_labels', { synchronize: false })
@Index('rule_by_priority', ['merchantId', 'priority', 'id'])
@Check('rule_labels_object', `jsonb_typeof(labels) = 'object'`)
export class RuleEntity implements Rule {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS', primaryKeyConstraintName: 'rule_pkey' })
  id: string;

  @Column({ name: 'merchant_id', type: 'text', collation: 'C', nullable: true })
  merchantId: string | null;

  /** Only declares the foreign key; queries use `merchantId`. */
  @ManyToOne(() => MerchantEntity, { nullable: true, onDelete: 'CASCADE' })
  @JoinColumn({ name: 'merchant_id', foreignKeyConstraintName: 'rule_merchant_fkey' })
  merchant?: unknown;

  @Column({ type: 'text', collation: 'C', nullable: true })
  plan: string | null;

  /** Only declares the foreign key; queries use `plan`. */
  @ManyToOne(() => PlanEntity, { nullable: true, onDelete: 'CASCADE' })
  @JoinColumn({ name: 'plan', foreignKeyConstraintName: 'rule_plan_fkey' })
  planOfRule?: unknown;

  @Column({ type: 'text' })
  name: string;

  @Column({ type: 'text' })
  layer: Layer;

  @Column({ type: 'integer' })
  priority: number;

  @Column({ type: 'boolean' })
  enabled: boolean;

  /**
   * Whether a rule of a plan is enabled; null for others. In its row `enabled` is false, so that gateways and preloaders of before, which know
   * no plans, do not take it for an enabled default rule and limit every merchant by it.
   */
  @Column({ name: 'plan_enabled', type: 'boolean', nullable: true })
  planEnabled?: boolean | null;

  @Column({ type: 'text', transformer: modeColumn })
  mode: Mode;

  /** As it was written, so that what is read is what was written, and an unchanged file changes nothing. */
  @Column({ name: 'valid_from', type: 'text', nullable: true })
  validFrom: string | null;

  @Column({ name: 'valid_to', type: 'text', nullable: true })
  validTo: string | null;

  @Column({ type: 'jsonb', nullable: true })
  schedule: Schedule | null;

  /** The version of the language that one has to know to decide by the rule: see `languageOf`. */
  @Column({ type: 'smallint', default: 1 })
  language: number;

  @Column({ type: 'jsonb' })
  match: RuleMatch;

  @Column({ type: 'jsonb' })
  key: readonly KeyPart[];

  @Column({ type: 'jsonb' })
  limits: readonly Limit[];

  /** Where a field of the request says it, the column has the most that it may say, and `costOfField` the whole. */
  @Column({ type: 'integer', transformer: costColumn })
  cost: Cost;

  /** Null for a cost that is a number. */
  @Column({ name: 'cost_of_field', type: 'jsonb', nullable: true })
  costOfField?: CostOfField | null;

  @Column({ type: 'jsonb', nullable: true })
  charge: Charge | null;

  @Column({ name: 'on_unreadable_body', type: 'text', nullable: true })
  onUnreadableBody: UnreadableBodyPolicy | null;

  /** Readers of before do not know `leased`, which is `closed` for whoever has been lent nothing: see `storeFailureLeased`. */
  @Column({ name: 'on_store_failure', type: 'text', transformer: storeFailureColumn })
  onStoreFailure: StoreFailurePolicy;

  /** Whether `leased` was written; null for everything else. */
  @Column({ name: 'store_failure_leased', type: 'boolean', nullable: true })
  storeFailureLeased?: boolean | null;

  /** Null is `exact`. */
  @Column({ type: 'text', nullable: true, transformer: consistencyColumn })
  consistency: Consistency;

  @Column({ type: 'jsonb', nullable: true })
  penalty: Penalty | null;

  @Column({ name: 'on_limit', type: 'jsonb', nullable: true })
  onLimit: OnLimit | null;

  @Column({ type: 'jsonb', nullable: true })
  reserve: readonly ReservedShare[] | null;

  @Column({ type: 'text', default: '' })
  note: string;

  @Column({ type: 'jsonb', default: {} })
  labels: Labels;

  /** Counts the changes of this row; the API shows it as the ETag. */
  @Column({ type: 'integer' })
  version: number;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @UpdateDateColumn({ name: 'updated_at', type: 'timestamptz' })
  updatedAt: Date;

  /** Nobody else needs to know how it is stored. */
  @AfterLoad()
  showWritten(): void {
    if (this.plan !== null && this.planEnabled !== null && this.planEnabled !== undefined) this.enabled = this.planEnabled;
    delete this.planEnabled;
    if (this.costOfField) this.cost = this.costOfField;
    delete this.costOfField;
    if (this.storeFailureLeased) this.onStoreFailure = 'leased';
    delete this.storeFailureLeased;
  }
}

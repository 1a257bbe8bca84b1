import { Check, Column, CreateDateColumn, Entity, PrimaryColumn, UpdateDateColumn } from 'typeorm';
import type { Labels } from '#limiter';
import { bigintNumber } from '../connection/bigint-number.js';

/** A set of rules that merchants share. */
@Entity('plan')
@Check('plan_labels_object', `jsonb_typeof(labels) = 'object'`)
export class PlanEntity {
  @PrimaryColumn({ type: 'text', collation: 'C', primaryKeyConstraintName: 'plan_pkey' })
  name: string;

  @Column({ type: 'text', default: '' })
  note: string;

  @Column({ type: 'jsonb', default: {} })
  labels: Labels;

  /** Counts the changes of this row; the API shows it as the ETag. */
  @Column({ type: 'integer' })
  version: number;

  /** The version of the snapshot; it grows with every change of the plan's rules. */
  @Column({ name: 'rules_version', type: 'bigint', transformer: bigintNumber })
  rulesVersion: number;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @UpdateDateColumn({ name: 'updated_at', type: 'timestamptz' })
  updatedAt: Date;
}

/** The tombstone of a deleted plan: its last version. A plan that is created under the same name continues from there. */
@Entity('deleted_plan')
export class DeletedPlanEntity {
  @PrimaryColumn({ type: 'text', collation: 'C', primaryKeyConstraintName: 'deleted_plan_pkey' })
  plan: string;

  @Column({ name: 'rules_version', type: 'bigint', transformer: bigintNumber })
  rulesVersion: number;

  @CreateDateColumn({ name: 'deleted_at', type: 'timestamptz' })
  deletedAt: Date;
}

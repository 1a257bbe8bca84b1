import { Check, Column, Entity, PrimaryColumn } from 'typeorm';
import { bigintNumber } from '../connection/bigint-number.js';

/** A table with a single row: the version of the snapshot of the default rules. */
@Entity('default_rules_version')
@Check('default_rules_version_only_row', 'only_row')
export class DefaultRulesVersionEntity {
  @PrimaryColumn({ name: 'only_row', type: 'boolean', default: true, primaryKeyConstraintName: 'default_rules_version_pkey' })
  onlyRow: boolean;

  @Column({ type: 'bigint', transformer: bigintNumber })
  version: number;
}

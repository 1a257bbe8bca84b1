import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { SwitchName } from '#limiter';

/** How often a switch was changed. One that never was has no row. */
@Entity('switch_version')
export class SwitchVersionEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'switch_version_pkey' })
  name: SwitchName;

  @Column({ type: 'integer' })
  version: number;
}

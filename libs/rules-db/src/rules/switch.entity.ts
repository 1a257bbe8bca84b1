import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn } from 'typeorm';
import type { Layer, SwitchName } from '#limiter';

/** Something that is switched on: see Switch. What is off has no row. */
@Entity('switch')
export class SwitchEntity {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS', primaryKeyConstraintName: 'switch_pkey' })
  id: string;

  @Column({ type: 'text' })
  name: SwitchName;

  @Column({ type: 'text', nullable: true })
  layer: Layer | null;

  @Column({ name: 'merchant_id', type: 'text', collation: 'C', nullable: true })
  merchantId: string | null;

  @Column({ name: 'until_at', type: 'timestamptz', nullable: true })
  until: Date | null;

  @Column({ type: 'text', nullable: true })
  reason: string | null;

  /** Who switched it on, and when. */
  @Column({ type: 'text' })
  actor: string;

  @CreateDateColumn({ type: 'timestamptz' })
  at: Date;
}

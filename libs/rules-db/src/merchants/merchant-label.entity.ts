import { Entity, PrimaryColumn } from 'typeorm';

/** One label of a merchant, for those who look for merchants by it. Triggers of `merchant` write it, and nobody else. */
@Entity('merchant_label')
export class MerchantLabelEntity {
  @PrimaryColumn({ type: 'text', collation: 'C', primaryKeyConstraintName: 'merchant_label_pkey' })
  key: string;

  @PrimaryColumn({ type: 'text', collation: 'C', primaryKeyConstraintName: 'merchant_label_pkey' })
  value: string;

  @PrimaryColumn({ name: 'merchant_id', type: 'text', collation: 'C', primaryKeyConstraintName: 'merchant_label_pkey' })
  merchantId: string;
}
